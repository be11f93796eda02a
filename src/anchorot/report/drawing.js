// How a side looks: colours, traces and layouts for plotly.

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;" }; // plotly takes texts for HTML
const themed = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const parse = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const rgb = ([red, green, blue]) => `rgb(${Math.round(red)},${Math.round(green)},${Math.round(blue)})`;
const mix = (a, b, t) => a.map((value, k) => value + (b[k] - value) * t);

// Colours of many points are flat arrays: red, green, blue of the first, of the second, ...
const faded = (colours) => {
  const blank = parse(themed("blank"));
  return Float32Array.from(colours, (value, k) => value + (blank[k % 3] - value) * 0.78);
};

// The same colour means the same share on every page; the cube root lets a thousandth be seen, and tells it from a half.
const warmthOf = (share) => Math.cbrt(Math.min(share, 1));

const heated = (warmth) => {
  const stops = themed("heat").split(" ").map(parse);
  const found = warmth.map((t) => {
    const at = t * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    return mix(stops[k], stops[k + 1], at - k);
  });
  return Float32Array.from(found.flat());
};

// The chance that matches are right; grey where there is none.
const confident = (chances) => {
  const stops = themed("sure").split(" ").map(parse);
  const none = parse(themed("none"));
  const found = new Float32Array(3 * chances.length);
  chances.forEach((chance, i) => {
    const at = Math.min(Math.max(chance, 0), 1) * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    found.set(Number.isNaN(chance) ? none : mix(stops[k], stops[k + 1], at - k), 3 * i);
  });
  return found;
};

// Colours of places on a surface or a tree, mixed from those of the points near them.
const blended = ({ near, shares, neighbours }, colours) => {
  const found = new Array(near.length / neighbours);
  for (let site = 0; site < found.length; site++) {
    const sum = [0, 0, 0];
    let total = 0;
    for (let k = site * neighbours; k < (site + 1) * neighbours; k++) {
      total += shares[k];
      for (let c = 0; c < 3; c++) sum[c] += shares[k] * colours[3 * near[k] + c];
    }
    found[site] = rgb(sum.map((value) => value / total));
  }
  return found;
};

const columns = (values, dim) => {
  const found = Array.from({ length: dim }, () => new Float32Array(values.length / dim));
  values.forEach((value, k) => { found[k % dim][Math.floor(k / dim)] = value; });
  return found;
};

const coordinates = (values, dim) => Object.fromEntries(columns(values, dim).map((column, k) => ["xyz"[k], column]));

const named = (side, point) => (side.labels ? side.labels[point] : `point ${point}`);

const home = ([x, y, z]) => ({ eye: { x, y, z }, center: { x: 0, y: 0, z: 0 }, up: { x: 0, y: 0, z: 1 } });

// What is the same however the side is coloured.
const prepare = (side) => {
  const { body, dim, count } = side;
  const flat = count > 3000 || body?.edges?.length > 10000 ? "scattergl" : "scatter";
  side.type = dim === 3 ? "scatter3d" : flat;
  side.size = dim === 3 ? Math.min(Math.max(75 / Math.sqrt(count), 2.4), 9) : Math.min(Math.max(110 / Math.sqrt(count), 4), 15);
  side.at = coordinates(side.points, dim);
  side.isCovered = body?.kind === "mesh" && count > 2000; // the surface has all colours, and dots would hide it
  if (dim === 3) side.camera = side.home = home(side.eye);
  if (!body) return;
  body.at = coordinates(body.sites, dim);
  if (body.kind === "mesh") body.corners = columns(body.faces, 3);
  if (body.kind === "lines") {
    const at = body.at;
    const joined = (isDrawn) => {
      const ends = [];
      for (let k = 0; k < body.edges.length; k += 2) if (isDrawn(k / 2)) ends.push(body.edges[k], body.edges[k + 1], -1);
      const broken = (column) => Float32Array.from(ends, (site) => (site < 0 ? NaN : column[site]));
      return [ends, Object.fromEntries(Object.entries(at).map(([axis, column]) => [axis, broken(column)]))];
    };
    [body.ends, body.at] = joined((edge) => !body.common || body.common[edge]);
    if (body.common) side.odd = joined((edge) => !body.common[edge])[1]; // edges that the other network lacks
  }
};

const bodyTrace = ({ body, dim, type, at }, colours) => {
  const trace = { type, ...(body?.at ?? at), hoverinfo: "skip" };
  if (!body) return { ...trace, visible: false };
  if (body.kind === "dots") {
    return { ...trace, mode: "markers", marker: { size: dim === 3 ? 1 : 2, color: themed("edge") } };
  }
  if (body.kind === "lines") {
    const coloured = dim === 3 && blended(body, colours);
    const plain = themed(body.common ? "common" : "edge");
    const color = coloured ? body.ends.map((site) => coloured[Math.max(site, 0)]) : plain;
    return { ...trace, mode: "lines", line: { width: dim === 3 ? 5 : 1, color } };
  }
  const [i, j, k] = body.corners;
  return {
    ...trace,
    type: "mesh3d",
    ...{ i, j, k },
    vertexcolor: blended(body, colours),
    lighting: { ambient: 0.72, diffuse: 0.5, specular: 0.06, roughness: 0.8, fresnel: 0.08 },
    lightposition: { x: 300, y: -900, z: 1200 },
    hoverinfo: "none",
  };
};

// Edges of a network that the other one lacks.
const oddTrace = ({ odd, type }, s) => (
  { type, ...odd, mode: "lines", hoverinfo: "skip", line: { width: 1.2, color: themed(s ? "new" : "lost") } });

// Marks are rings, balls in space, and diamonds for the one match.
const markTrace = ({ dim, type, at, size }, marks) => {
  const places = Object.entries(at).map(([axis, column]) => [axis, marks.map(({ point }) => column[point])]);
  const open = dim === 3 ? "" : "-open";
  const marker = {
    size: marks.map(() => (dim === 3 ? 1.6 * size + 3 : size + 10)), // plotly halves sizes in arrays in space
    symbol: marks.map(({ isMatch }) => `${isMatch ? "diamond" : "circle"}${open}`),
    color: themed("accent"),
    opacity: 1,
    line: { width: dim === 3 ? 0 : 3 },
  };
  return { type, ...Object.fromEntries(places), mode: "markers", marker, hoverinfo: "skip" };
};

// A look is how a side is drawn now: colours, sizes of its points relative to normal, and marked points.
const traces = (side, { colours, sizes, marks }, s) => {
  const { dim, type, at, count } = side;
  const onMesh = side.body?.kind === "mesh"; // which has the same colour: points are drawn small and darker
  if (side.isCovered) return [bodyTrace(side, colours), { type, ...at, visible: false }, markTrace(side, marks)];
  const shade = onMesh ? mix([0, 0, 0], parse(themed("ink")), 0.2) : null;
  const color = Array.from({ length: count }, (_, i) => {
    const own = [0, 1, 2].map((c) => colours[3 * i + c]);
    return rgb(shade ? mix(own, shade, 0.3) : own);
  });
  const size = Array.from({ length: count }, (_, i) => side.size * (onMesh ? 0.6 : 1) * (sizes ? sizes[i] : 1));
  const line = { color: themed("paper"), width: dim === 3 ? 0 : 1 };
  return [
    bodyTrace(side, colours),
    { type, ...at, mode: "markers", marker: { size, color, opacity: 1, line }, hoverinfo: "none" },
    markTrace(side, marks),
    ...(side.odd ? [oddTrace(side, s)] : []),
  ];
};

// Which categories are matched with which.
const drawCategories = ({ rows, columns, shares, counts }) => {
  const cut = (values) => rows.map((_, k) => Array.from(values.subarray(k * columns.length, (k + 1) * columns.length)));
  const stops = themed("heat").split(" ");
  const names = (texts) => texts.map((text) => text.replace(/[&<>]/g, (letter) => ENTITIES[letter]));
  const hasRoom = byId("categories").clientWidth - 200 > 11 * columns.length; // on a phone touching a cell tells
  const size = Math.min(Math.max(360, 17 * rows.length + 160), 1100);
  const trace = {
    type: "heatmap",
    ...{ z: cut(shares), customdata: cut(counts), x: columns.map((_, k) => k), y: rows.map((_, k) => k) },
    ...{ zmin: 0, zmax: 1, xgap: 1, ygap: 1, colorscale: stops.map((stop, k) => [k / (stops.length - 1), stop]) },
    text: rows.map((row) => columns.map((column) => names([`${row} → ${column}`])[0])),
    hovertemplate: "%{text}<br>%{z:.1%} of the category, %{customdata} points<extra></extra>",
    colorbar: { tickformat: ".0%", thickness: 12, outlinewidth: 0 },
  };
  const axis = (texts) => ({
    ...{ tickvals: texts.map((_, k) => k), ticktext: names(texts).map((text) => (text.length > 24 ? `${text.slice(0, 23)}…` : text)) },
    ...{ automargin: true, showgrid: false, zeroline: false, fixedrange: true, tickfont: { size: texts.length > 30 ? 10 : 12 } },
  });
  const look = {
    ...{ margin: { l: 8, r: 8, t: 8, b: 8 }, height: size, font: { color: themed("ink") } },
    ...{ paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" },
    ...{ xaxis: { ...axis(columns), tickangle: -60, showticklabels: hasRoom }, yaxis: { ...axis(rows), autorange: "reversed" } },
  };
  return Plotly.react(byId("categories"), [trace], look, { displayModeBar: false, responsive: true });
};

// A name on a pin, seen even where the point is behind the body.
const pin = (side, point) => {
  const place = Object.fromEntries(Object.entries(side.at).map(([axis, column]) => [axis, column[point]]));
  return {
    ...place,
    text: named(side, point).replace(/[&<>]/g, (letter) => ENTITIES[letter]),
    font: { size: 13, color: themed("ink") },
    bgcolor: themed("paper"),
    bordercolor: themed("line"),
    borderpad: 4,
    showarrow: true,
    arrowcolor: themed("accent"),
    arrowhead: 6,
    arrowwidth: 1.5,
    arrowsize: 1,
    ax: 34,
    ay: -52,
  };
};

const layout = (side, marks) => {
  const half = side.dim === 3 ? 0.52 : 0.56;
  const axis = () => ({ visible: false, showspikes: false, range: [-half, half] }); // plotly writes into ranges
  const bare = {
    margin: { l: 0, r: 0, t: 0, b: 0 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    showlegend: false,
    hovermode: "closest",
    uirevision: "kept", // the view stays as the reader moved it
  };
  if (side.dim === 2) return { ...bare, dragmode: "pan", xaxis: axis(), yaxis: { ...axis(), scaleanchor: "x" } };
  return {
    ...bare,
    scene: {
      ...{ xaxis: axis(), yaxis: axis(), zaxis: axis() },
      aspectmode: "cube",
      dragmode: "turntable",
      camera: side.camera,
      annotations: marks.map(({ point }) => pin(side, point)),
    },
  };
};
