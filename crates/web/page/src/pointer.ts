// Mouse and fingers on the stage: a click looks at something, a double click goes along with it, a drag pulls it, and the cursor says which.
import { Vector3 } from "three";
import type { Stage } from "./stage";
import type { Viewer } from "./viewer";

/** Pixels that a pointer may move in a click. */
const STILL = 4;
/** Time between two looks at what is under the cursor [ms]. */
const LOOK = 60;

/** A body that is held. */
export interface Drag {
  point: Vector3;
  to: Vector3;
  body: number;
  local: Vector3;
}

export function point(viewer: Viewer, stage: Stage): void {
  const { canvas } = stage;
  let down: { x: number; y: number } | null = null;
  let looked = 0;
  const place = (event: MouseEvent): [number, number] => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  // Before the camera sees it: a hand on a body does not turn the scene.
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !event.isPrimary) return;
    const [x, y] = place(event);
    down = { x, y };
    const hit = stage.pick(x, y);
    if (hit && viewer.canPull(hit.body)) {
      stage.camera.free(false);
      canvas.setPointerCapture(event.pointerId);
      viewer.drag = { point: hit.point, to: hit.point.clone(), body: hit.body, local: viewer.local(hit.body, hit.point) };
      viewer.hand?.grab(hit.body, viewer.drag.local);
      viewer.hand?.pull(hit.point);
      viewer.draw();
    }
    canvas.dataset.cursor = viewer.drag ? "held" : "move";
  }, { capture: true });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    if (viewer.drag) {
      viewer.drag.to = stage.beside(x, y, viewer.drag.point);
      viewer.hand?.pull(viewer.drag.to);
      viewer.draw();
    } else if (event.buttons === 0 && event.pointerType === "mouse" && event.timeStamp - looked > LOOK) {
      looked = event.timeStamp;
      hover(x, y);
    }
  });
  const hover = (x: number, y: number): void => {
    const found = viewer.under(x, y);
    canvas.dataset.cursor = !found ? "" : found.kind === "body" && viewer.canPull(found.index) ? "grab" : "point";
  };
  const up = (event: PointerEvent): void => {
    const [x, y] = place(event);
    if (viewer.drag) {
      viewer.drag = null;
      viewer.hand?.release();
      stage.camera.free(true);
    }
    if (down && Math.hypot(x - down.x, y - down.y) < STILL && event.type === "pointerup") viewer.choose(viewer.under(x, y));
    down = null;
    if (event.pointerType === "mouse") hover(x, y);
    viewer.draw();
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("dblclick", (event) => {
    const [x, y] = place(event);
    const hit = stage.pick(x, y);
    viewer.goAlong(hit ? hit.body : null);
  });
}
