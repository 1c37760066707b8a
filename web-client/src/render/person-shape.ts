// What stands for people in the picture: a ball for a cursor, a head with a visor, hands. Heads and hands look along -z and
// are as large as a unit; their light from above is in their vertices' colours, so that one colour tints all of them.
import * as THREE from "three";
import type { Part } from "../protocol/messages.js";

const VISOR = 0.12;

/** The shapes by part, shared by everybody. */
export class PersonShapes {
  private readonly ball = [lit(new THREE.SphereGeometry(1, 16, 12))];
  private readonly head = [
    lit(new THREE.SphereGeometry(1, 24, 16).scale(0.82, 1.05, 0.92)),
    lit(new THREE.BoxGeometry(1.5, 0.62, 0.5).translate(0, 0.12, -0.78), VISOR),
    lit(new THREE.TorusGeometry(0.86, 0.09, 6, 24).rotateX(Math.PI / 2).translate(0, 0.12, 0), VISOR),
  ];
  private readonly left = hand(1);
  private readonly right = hand(-1);

  of(part: Part): readonly THREE.BufferGeometry[] {
    switch (part) {
      case "cursor":
        return this.ball;
      case "head":
        return this.head;
      case "hand_left":
        return this.left;
      case "hand_right":
        return this.right;
    }
  }
}

/** A palm, an index finger that points, a thumb. @param thumb  side of it: 1 is +x */
function hand(thumb: number): THREE.BufferGeometry[] {
  const finger = new THREE.CapsuleGeometry(0.16, 0.7, 3, 10).rotateX(-Math.PI / 2);
  return [
    lit(new THREE.SphereGeometry(1, 16, 12).scale(0.5, 0.3, 0.7)),
    lit(finger.translate(0.12 * thumb, 0.04, -0.9)),
    lit(
      new THREE.CapsuleGeometry(0.15, 0.4, 3, 10).rotateZ(-0.9 * thumb).translate(0.55 * thumb, 0.05, -0.2),
    ),
  ];
}

/** Gives a geometry its light. @param share  of the tint that is left */
function lit(geometry: THREE.BufferGeometry, share = 1): THREE.BufferGeometry {
  const normal = geometry.getAttribute("normal");
  const colours = new Float32Array(3 * normal.count);
  for (let i = 0; i < normal.count; i++) colours.fill(share * (0.6 + 0.4 * normal.getY(i)), 3 * i, 3 * i + 3);
  geometry.setAttribute("color", new THREE.BufferAttribute(colours, 3));
  return geometry;
}
