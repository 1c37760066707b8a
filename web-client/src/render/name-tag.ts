// A name that stands in the picture, for eyes that see no text over it. Always upright to whoever looks.
import * as THREE from "three";

const FONT_PX = 40;
const PAD_PX = 18;
const WIDTH_PX_MAX = 640;

export class NameTag {
  readonly sprite: THREE.Sprite;
  private readonly canvas = document.createElement("canvas");
  private readonly texture = new THREE.CanvasTexture(this.canvas);
  private shown = "";

  constructor() {
    const material = new THREE.SpriteMaterial({ map: this.texture, depthTest: false, depthWrite: false });
    this.sprite = new THREE.Sprite(material);
  }

  /**
   * Shows a name; none where it is empty.
   * @param colour   of the bar before it, sRGB 0xrrggbb
   * @param heightM  in the sprite's own space
   */
  show(name: string, colour: number, heightM: number): void {
    this.sprite.visible = name !== "";
    const key = `${name}\n${colour}`;
    if (name !== "" && key !== this.shown) {
      this.shown = key;
      this.draw(name, colour);
    }
    this.sprite.scale.set((heightM * this.canvas.width) / this.canvas.height, heightM, 1);
  }

  dispose(): void {
    this.texture.dispose();
    this.sprite.material.dispose();
  }

  private draw(name: string, colour: number): void {
    const { canvas } = this;
    const context = canvas.getContext("2d");
    if (context === null) return;
    const font = `600 ${FONT_PX}px system-ui, sans-serif`;
    context.font = font;
    const wide = Math.min(WIDTH_PX_MAX, Math.ceil(context.measureText(name).width));
    canvas.width = wide + 3 * PAD_PX;
    canvas.height = FONT_PX + PAD_PX;
    context.fillStyle = "rgb(7 18 28 / 75%)";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.fillStyle = `#${colour.toString(16).padStart(6, "0")}`;
    context.fillRect(0, 0, 0.4 * PAD_PX, canvas.height);
    context.font = font; // a canvas forgets with its size
    context.fillStyle = "#dcecf3";
    context.textBaseline = "middle";
    context.fillText(name, 1.5 * PAD_PX, 0.52 * canvas.height, WIDTH_PX_MAX);
    // The size may be another one: a texture can't change its own.
    this.texture.dispose();
    this.texture.needsUpdate = true;
  }
}
