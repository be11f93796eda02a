// The text beside the drawings.

const TICKS = [0, 0.01, 0.1, 0.5, 1]; // shares on the colour scale
const MAX_LISTED = 200; // unmatched points
const MAX_TWINS = 10;

const element = (tag, properties, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

const formatPercent = (share) => `${(100 * share).toPrecision(3)} %`;
const formatNumber = (number) => (Number.isNaN(number) ? "none" : number.toPrecision(number < 10 ? 2 : 3));

const matchRow = (version, side, { point, share }, total, isMatch) => {
  const name = named(sides[1 - side], point);
  const isChosen = state.chosen === point;
  const button = element("button", { type: "button", textContent: name, title: `${name} (number ${point})` });
  button.setAttribute("aria-pressed", String(isChosen));
  const { twins } = sides[1 - side];
  const match = version.matches[side][state.point];
  if (twins && point !== match && twins[point] === twins[match]) button.append(" (its twin)");
  if (isMatch) button.prepend(element("span", { className: "match", title: "the match", textContent: "◆ " }));
  const chance = version.confidence && isMatch ? version.confidence[0][side ? point : state.point] : NaN;
  const confidence = Number.isNaN(chance) ? "" : formatPercent(chance);
  const spread = formatNumber(version.spread[1 - side][point]);
  const contents = [button, formatPercent(share), formatPercent(total), spread, confidence];
  const line = element("tr", {}, ...contents.map((content) => element("td", {}, content)));
  line.classList.toggle("chosen", isChosen);
  line.dataset.point = point;
  return line;
};

const showScale = () => {
  byId("scale-bar").style.background = `linear-gradient(90deg, ${themed("heat").split(" ").join(", ")})`;
  byId("scale-ticks").replaceChildren(...TICKS.map((share) => {
    const tick = element("span", { textContent: `${100 * share} %` });
    tick.style.left = `${100 * warmthOf(share)}%`;
    return tick;
  }));
};

// Nodes that nothing tells from this one: they have the same neighbours.
const twinsText = (side, point) => {
  const { twins } = sides[side];
  const found = twins ? Array.from(twins.keys()).filter((other) => other !== point && twins[other] === twins[point]) : [];
  if (!found.length) return "";
  const shown = found.slice(0, MAX_TWINS).map((other) => named(sides[side], other)).join(", ");
  const more = found.length > MAX_TWINS ? ` and ${found.length - MAX_TWINS} more` : "";
  return `Twins, with the same neighbours, so that nothing tells which is which: ${shown}${more}.`;
};

const edgesText = (version, side, point) => {
  const { body } = sides[side];
  const own = { common: 0, odd: 0 };
  body.edges.forEach((end, k) => { if (end === point) own[body.common[k >> 1] ? "common" : "odd"] += 1; });
  const match = version.matches[side][point];
  const edges = own.common + own.odd;
  const other = match < 0 ? "" : `, matched with ${named(sides[1 - side], match)}`;
  return `${edges} edge${edges === 1 ? "" : "s"}, ${own.common} common${other}.`;
};

// Why a point has no match.
const missingMassText = (version, side, point, found) => {
  if (pointName === "node") return version.matches[side][point] < 0 ? "This node has no match." : "";
  if (!found.length && version.map && side === 1) return `No point of ${sides[0].name} is matched with it.`;
  if (!found.length) return "No mass: this point has no match.";
  if (version.matches[side][point] >= 0) return "";
  return `Unmatched: only ${formatPercent(version.matched[side][point])} of its weight has a match.`;
};

const titleOf = ({ map }, side, point) => {
  const [own, name] = [named(sides[side], point), sides[side].name];
  if (pointName === "node") return `Node ${sides[side].labels ? own : point} of ${name}`;
  if (!map) return `Where the mass of ${own} in ${name} ${side ? "comes from" : "goes"}`;
  return side ? `Points matched with ${own} of ${name}` : `Match of ${own} of ${name}`;
};

const showPoint = (version, side, point) => {
  const found = version.bestMatches(side, point);
  const title = titleOf(version, side, point);
  byId("found-title").textContent = title;
  const match = version.sharp ? version.matches[side][point] : -1;
  let total = 0;
  const isMatch = (other) => other === match || (version.map && side === 1);
  const rows = found.map((one) => matchRow(version, side, one, (total += one.share), isMatch(one.point)));
  byId("matches").tBodies[0].replaceChildren(...rows);
  byId("matches").hidden = !found.length;
  byId("matches").classList.toggle("map", version.map); // shares of a map are trivial
  byId("matches").classList.toggle("with-confidence", Boolean(version.confidence));
  byId("spread").hidden = !found.length || version.map; // trivial for a map
  byId("scale").hidden = byId("spread").hidden || pointName === "node"; // of a network the edges stand out, not shares
  byId("edges").textContent = pointName === "node" ? [edgesText(version, side, point), twinsText(side, point)].join(" ") : "";
  byId("no-match").textContent = missingMassText(version, side, point, found);
  byId("no-match").hidden = !byId("no-match").textContent;
  const number = formatNumber(version.spread[side][point]);
  const chance = match < 0 ? undefined : version.confidence?.[0][side ? match : point];
  const confidence = chance === undefined ? "" : `. Confidence of its match: ${formatPercent(chance)}`;
  byId("spread").textContent = `Effective number of matches: ${number}${confidence}`;
  const best = found.length && `best match ${named(sides[1 - side], found[0].point)}, ${formatPercent(found[0].share)}`;
  byId("status").textContent = `${title}: ${best || "no mass"}. ${version.map ? "" : byId("spread").textContent}`;
};

const showColourOptions = () => {
  const available = { place: true, category: Boolean(categoryColours), confidence: versions.some(({ confidence }) => confidence) };
  for (const option of byId("colour").options) option.hidden = option.disabled = !available[option.value];
  byId("colouring").hidden = !available.category && !available.confidence;
};

const colourText = ({ map }) => {
  const choice = byId("colour").value;
  const [first, second] = (map ? [...sides].reverse() : sides).map(({ name }) => name);
  const grey = `Grey ${pointName}s are unmatched.`;
  if (choice === "category") return `Both sides are coloured by category.`;
  if (choice === "confidence") return `Both sides are coloured by the estimated chance that a match is right. ${grey}`;
  return `The ${pointName}s of ${first} are coloured by position; each ${pointName} of ${second} has the colour of its match. ${grey}`;
};

const showColours = () => {
  const version = versions[state.version];
  const isShown = version.confidence && byId("colour").value === "confidence";
  byId("colour-text").textContent = colourText(version);
  byId("confidence-scale").hidden = !isShown;
  byId("confidence-bar").style.background = `linear-gradient(90deg, ${themed("confidence").split(" ").join(", ")})`;
};

const unmatchedList = (version, { name, count }, s) => {
  const found = version.unmatched(s);
  if (!found.length) return [];
  const buttons = found.slice(0, MAX_LISTED).map((point) => {
    const button = element("button", { type: "button", textContent: named(sides[s], point) });
    Object.assign(button.dataset, { side: s, point });
    return button;
  });
  const more = found.length > MAX_LISTED ? [`and ${found.length - MAX_LISTED} more`] : [];
  const summary = element("summary", { textContent: `${name}: ${found.length} of ${count} ${pointName}s unmatched, grey` });
  return [element("details", {}, summary, element("div", {}, ...buttons, ...more))];
};

const showVersion = (version) => {
  byId("unmatched").replaceChildren(...sides.flatMap((side, s) => unmatchedList(version, side, s)));
  byId("version").textContent = version.text;
  const option = byId("colour").querySelector("[value=confidence]"); // the runner-up has no confidence
  option.disabled = !version.confidence;
  if (option.disabled && option.selected) byId("colour").value = "place";
  showColours();
  byId("switch").setAttribute("aria-pressed", String(state.version === 1));
};

const showInfo = () => {
  const { side, point } = state;
  byId("rest").hidden = side !== null;
  byId("found").hidden = side === null;
  byId("status").textContent = "";
  showScale();
  if (side !== null) showPoint(versions[state.version], side, point);
};
