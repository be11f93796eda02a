// How results of a search are ordered: a function of that very name first. The other numbers are Sphinx's.
var Scorer = {
  score: ([, title, , , score]) => score + (/^anchorot\.[a-z_]+$/.test(title) ? 1 : 0), // before anchorot.torch
  objNameMatch: 100,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
