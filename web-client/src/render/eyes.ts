// The eyes of a headset as views of their own: what three.js found out about them, in cameras that stay as they are set.
import * as THREE from "three";
import type { View } from "./passes.js";

export class Eyes {
  private readonly views: View[] = [];
  private readonly shown: View[] = [];

  /**
   * The eyes of the headset that is worn, where they are for this picture; none before its first one. They are to be
   * drawn while `renderer.xr` is off: it would draw both at once otherwise.
   * @param camera  the page's, carried by the rig
   */
  look(renderer: THREE.WebGLRenderer, camera: THREE.PerspectiveCamera): readonly View[] {
    const { xr } = renderer;
    camera.parent?.updateWorldMatrix(true, false);
    xr.updateCamera(camera);
    const { cameras } = xr.getCamera();
    const target = renderer.getRenderTarget();
    this.shown.length = 0;
    for (let i = 0; i < cameras.length; i++) {
      const eye = cameras[i] as THREE.WebXRCamera;
      this.views[i] ??= newView();
      const view = this.views[i] as View;
      // The projections of eyes are lopsided: they are taken as they are.
      view.camera.projectionMatrix.copy(eye.projectionMatrix);
      view.camera.projectionMatrixInverse.copy(eye.projectionMatrixInverse);
      view.camera.matrixWorld.copy(eye.matrixWorld);
      view.camera.matrixWorldInverse.copy(eye.matrixWorldInverse);
      view.target = target;
      view.viewport.copy(eye.viewport);
      if (view.viewport.z > 0 && view.viewport.w > 0) this.shown.push(view);
    }
    return this.shown;
  }
}

function newView(): View {
  const camera = new THREE.PerspectiveCamera();
  camera.matrixAutoUpdate = false;
  camera.matrixWorldAutoUpdate = false;
  return { camera, target: null, viewport: new THREE.Vector4() };
}
