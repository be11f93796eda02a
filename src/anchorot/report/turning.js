// Views in space that turn together.

const reach = ({ x, y, z }) => Math.hypot(x, y, z);
let follower = null; // the side that is being turned after the other
let waiting = false; // whether the other was turned again meanwhile

// The other side looks from the same direction, as near in proportion.
const follow = async (leader) => {
  if (follower !== null) {
    waiting = true;
    return;
  }
  follower = 1 - leader;
  const [own, other] = [sides[leader], sides[follower]];
  const ratio = reach(other.home.eye) / reach(own.home.eye);
  const { x, y, z } = own.camera.eye;
  other.camera = { ...own.camera, eye: { x: x * ratio, y: y * ratio, z: z * ratio } };
  await Plotly.relayout(byId(`plot-${follower}`), { "scene.camera": other.camera });
  follower = null;
  if (waiting) {
    waiting = false;
    await follow(leader);
  }
};

const canTurnTogether = () => sides.every(({ dim }) => dim === 3);

const listenToTurns = (plot, s) => {
  const turned = (change) => {
    if (!change["scene.camera"] || s === follower) return;
    sides[s].camera = change["scene.camera"];
    if (byId("together").checked && canTurnTogether()) follow(s);
  };
  plot.on("plotly_relayouting", turned);
  plot.on("plotly_relayout", turned);
  plot.addEventListener("dblclick", () => Plotly.relayout(plot, { "scene.camera": sides[s].home }));
};
