// Linked rotation of the two 3-D views.

const SETTLE_MS = 500; // a view may still move for this time after it is released

let trackedSide = null; // the side that the user is rotating
let trackUntil = 0; // time at which it will be at rest

let linkedSide = null; // the side whose view is being updated
let mustRepeat = false; // whether the other side was rotated again meanwhile

const plotOf = (s) => byId(`plot-${s}`);
const distance = ({ x, y, z }) => Math.hypot(x, y, z);
const canLinkViews = () => sides.every(({ dim }) => dim === 3);

// Plotly reports no rotation by touch, and none that ends outside the drawing; so the camera itself is read.
const cameraNow = (s) => plotOf(s)._fullLayout?.scene?._scene?.getCamera() ?? sides[s].camera;

// Show the other side from the same direction, at the same relative distance.
const copyView = async (leader) => {
  if (linkedSide !== null) {
    mustRepeat = true;
    return;
  }
  linkedSide = 1 - leader;
  const [own, other] = [sides[leader], sides[linkedSide]];
  const ratio = distance(other.home.eye) / distance(own.home.eye);
  const { x, y, z } = own.camera.eye;
  other.camera = { ...own.camera, eye: { x: x * ratio, y: y * ratio, z: z * ratio } };
  await Plotly.relayout(plotOf(linkedSide), { "scene.camera": other.camera });
  linkedSide = null;
  if (!mustRepeat) return;
  mustRepeat = false;
  await copyView(leader);
};

const setCamera = (s, camera) => {
  if (JSON.stringify(camera) === JSON.stringify(sides[s].camera)) return;
  sides[s].camera = camera;
  if (byId("link-views").checked && canLinkViews()) copyView(s);
};

const updateCamera = () => {
  setCamera(trackedSide, cameraNow(trackedSide));
  if (performance.now() < trackUntil) requestAnimationFrame(updateCamera);
  else trackedSide = null;
};

const trackCamera = (s) => {
  const isIdle = trackedSide === null;
  trackedSide = s;
  trackUntil = performance.now() + SETTLE_MS;
  if (isIdle) updateCamera();
};

const listenToRotation = (plot, s) => {
  plot.addEventListener("pointerdown", () => trackCamera(s), { capture: true });
  plot.addEventListener("pointermove", ({ buttons }) => { if (buttons) trackCamera(s); }, { capture: true });
  plot.addEventListener("wheel", () => trackCamera(s), { capture: true, passive: true });
  for (const kind of ["pointermove", "pointerup", "touchmove", "touchend"]) {
    document.addEventListener(kind, () => { if (trackedSide === s) trackCamera(s); }, { capture: true, passive: true });
  }
  plot.addEventListener("dblclick", async () => {
    await Plotly.relayout(plot, { "scene.camera": sides[s].home });
    setCamera(s, sides[s].home);
  });
};
