// What stands still behind the bodies, as a sheet of its own below a transparent picture: a processor that draws alone shades grid and ground
// once for each place of the camera, not once per frame. (To copy a kept picture into every frame took three times as long as to draw 1 000 balls.)
import { Vector2, type WebGLRenderer } from "three";

export class Backdrop {
  readonly canvas = document.createElement("canvas");
  private readonly context: CanvasRenderingContext2D;
  private readonly size = new Vector2();
  private kept = false;

  constructor(private readonly renderer: WebGLRenderer) {
    this.canvas.className = "backdrop";
    this.canvas.setAttribute("aria-hidden", "true");
    this.context = this.canvas.getContext("2d", { alpha: false })!;
  }

  /** The camera moved, or what is behind the bodies changed. */
  drop(): void {
    this.kept = false;
  }

  /** Begins a frame; `draw` makes the picture that is kept. */
  begin(draw: () => void): void {
    const { renderer, size } = this;
    if (!this.kept) {
      draw();
      renderer.getDrawingBufferSize(size);
      if (this.canvas.width !== size.x || this.canvas.height !== size.y) [this.canvas.width, this.canvas.height] = [size.x, size.y];
      this.context.drawImage(renderer.domElement, 0, 0);
      this.kept = true;
    }
    renderer.setClearAlpha(0);
    renderer.clear();
    renderer.setClearAlpha(1);
  }
}
