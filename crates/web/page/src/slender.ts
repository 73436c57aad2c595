// Rods of the plane that are thinner than a line on the screen: a chain of a thousand links is seen as a line in its bodies' colours.
import { Vector3 } from "three";
import type { Picture } from "./picture";
import type { Stage } from "./stage";

/** Least width that is drawn [pixels]. */
const THIN = 1.75;
/** How much longer than wide a body is that counts as a rod. */
const LONG = 2;

interface Rod {
  body: number;
  /** Its ends in the frame of its body, and how wide it is [m]. */
  ends: [number, number, number, number];
  width: number;
  color: string;
}

export class Slender {
  private readonly rods: Rod[] = [];
  private readonly a = new Vector3();
  private readonly b = new Vector3();

  constructor(picture: Picture) {
    if (picture.dimension !== 2) return;
    picture.bodies.forEach(({ shapes, color }, body) => {
      for (const { kind, size, pose } of shapes) {
        if (kind !== "capsule" && kind !== "box") continue;
        let [length, width] = kind === "capsule" ? [size[0]!, 2 * size[1]!] : [size[0]!, size[1]!];
        const [x, y, angle] = pose as [number, number, number];
        const turned = width > length;
        if (turned) [length, width] = [width, length];
        if (length < LONG * width) continue;
        const turn = turned ? angle + Math.PI / 2 : angle;
        const [dx, dy] = [0.5 * length * Math.cos(turn), 0.5 * length * Math.sin(turn)];
        this.rods.push({ body, ends: [x - dx, y - dy, x + dx, y + dy], width, color: `#${color.toString(16).padStart(6, "0")}` });
      }
    });
  }

  /** Pixels per metre. */
  private scale(stage: Stage): number {
    return stage.project(1, 0, 0, this.b).x - stage.project(0, 0, 0, this.a).x;
  }

  /** Whether some of them are too thin to be seen. */
  needed(stage: Stage): boolean {
    const scale = this.scale(stage);
    return this.rods.some(({ width }) => width * scale < THIN);
  }

  draw(context: CanvasRenderingContext2D, q: Float32Array, stage: Stage): void {
    const scale = this.scale(stage);
    context.lineWidth = THIN;
    // Colours repeat, and to begin a path is dearer than its lines.
    const paths = new Map<string, Path2D>();
    for (const { body, ends, width, color } of this.rods) {
      if (width * scale >= THIN) continue;
      const [x, y, angle] = [q[3 * body]!, q[3 * body + 1]!, q[3 * body + 2]!];
      const [c, s] = [Math.cos(angle), Math.sin(angle)];
      stage.project(x + c * ends[0] - s * ends[1], y + s * ends[0] + c * ends[1], 0, this.a);
      stage.project(x + c * ends[2] - s * ends[3], y + s * ends[2] + c * ends[3], 0, this.b);
      let path = paths.get(color);
      if (!path) paths.set(color, (path = new Path2D()));
      path.moveTo(this.a.x, this.a.y);
      path.lineTo(this.b.x, this.b.y);
    }
    for (const [color, path] of paths) {
      context.strokeStyle = color;
      context.stroke(path);
    }
  }
}
