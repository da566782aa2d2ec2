#include "sim/report/style.h"

namespace larder::sim {

std::string_view page_style() {
  return R"css(
:root { color-scheme: light dark;
  --paper: #fbfaf8; --card: #ffffff; --ink: #1d2329; --soft: #5b656f; --rule: #dcdfe3;
  --good: #17693c; --good-back: #e4f3ea; --bad: #a02020; --bad-back: #fbe7e5;
  --a: #0b6fb0; --b: #c4560a; --c: #2a8a57; --d: #7d4bb3; --e: #8a6d00; --n: #b4bac1;
  --idle: #cfd4da; --fault: #a02020; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14181c; --card: #1c2127; --ink: #e7eaed; --soft: #a3adb7; --rule: #363e46;
  --good: #7fd6a2; --good-back: #16321f; --bad: #ff9d93; --bad-back: #43201d;
  --a: #5db4f0; --b: #f59a52; --c: #62c78e; --d: #bd93e8; --e: #d8bb4a; --n: #5a646e;
  --idle: #434c55; --fault: #ff9d93; }
  svg .band { stroke-opacity: .5 !important; } }
@media print { :root { color-scheme: light;
  --paper: #fff; --card: #fff; --ink: #000; --soft: #444; --rule: #bbb;
  --good: #17693c; --good-back: #fff; --bad: #a02020; --bad-back: #fff;
  --a: #0b6fb0; --b: #c4560a; --c: #2a8a57; --d: #7d4bb3; --e: #8a6d00; --n: #b4bac1;
  --idle: #cfd4da; --fault: #a02020; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .25rem; }
h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
.lead, figcaption span, footer { color: var(--soft); }
.lead { margin: 0 0 1.2rem; }
.verdict { padding: .8rem 1rem; border-left: 5px solid; border-radius: 4px; margin: 0; }
.verdict.good { color: var(--good); background: var(--good-back); }
.verdict.bad { color: var(--bad); background: var(--bad-back); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .32rem .6rem; border-bottom: 1px solid var(--rule); text-align: right;
  overflow-wrap: anywhere; }
th:first-child { text-align: left; font-weight: 500; padding-left: 0; overflow-wrap: normal; }
thead th { color: var(--soft); font-weight: 600; }
td.digest { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .92em;
  white-space: nowrap; }
tr.differs td { color: var(--bad); font-weight: 600; }
.plots { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
figure { margin: 0; padding: .9rem .9rem .6rem; background: var(--card); border: 1px solid var(--rule);
  border-radius: 8px; break-inside: avoid; }
figcaption { font-weight: 600; margin-bottom: .5rem; line-height: 1.35; }
figcaption span { display: block; font-weight: 400; font-size: .88rem; }
svg { display: block; width: 100%; height: auto; font-size: 12px; }
svg text { fill: var(--ink); }
svg .tick { fill: var(--soft); font-size: 11.5px; }
svg .grid { stroke: var(--rule); stroke-width: 1; }
svg .axis { stroke: var(--soft); stroke-width: 1; }
svg path { fill: none; stroke-linejoin: round; }
svg .band { stroke-width: 7; stroke-opacity: .32; }
svg .thin { stroke-width: 1.7; }
svg .a { stroke: var(--a); } svg .b { stroke: var(--b); }
footer { margin-top: 2.2rem; font-size: .9rem; border-top: 1px solid var(--rule); padding-top: .8rem; }
/* What scripts draw. */
.data th, .data td { overflow-wrap: normal; }
p.verdict { margin: 0 0 .6rem; }
figure svg .c { stroke: var(--c); } figure svg .d { stroke: var(--d); } figure svg .e { stroke: var(--e); }
svg path.stroke { stroke-width: 1.7; } svg path.fill { stroke: none; fill-opacity: .62; }
svg path.fill.a { fill: var(--a); } svg path.fill.b { fill: var(--b); } svg path.fill.c { fill: var(--c); }
svg path.fill.d { fill: var(--d); } svg path.fill.e { fill: var(--e); }
svg .hair { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 3 3; }
svg .limit { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 6 4; } p.note { margin: .6rem 0 .2rem; font-size: .88rem; color: var(--soft); }
svg .fault { fill: var(--fault); fill-opacity: .22; }
svg .dot { stroke: none; } svg .dot.b { fill: var(--b); } svg .dot.c { fill: var(--c); }
.legend { display: flex; flex-wrap: wrap; gap: .1rem .9rem; font-size: .84rem; min-height: 1.6em;
  align-content: start; font-variant-numeric: tabular-nums; }
.legend i { display: inline-block; width: 14px; height: 9px; margin-right: .35em; border-radius: 2px; }
.legend i.stroke { height: 3px; vertical-align: middle; }
.legend .at { color: var(--soft); }
i.a { background: var(--a); } i.b { background: var(--b); } i.c { background: var(--c); }
i.d { background: var(--d); } i.e { background: var(--e); } i.n { background: var(--n); }
.cards { display: grid; gap: .7rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 10.2rem), 1fr)); }
.card { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: .6rem .8rem;
  display: flex; flex-direction: column; break-inside: avoid; }
.card span { color: var(--soft); font-size: .84rem; line-height: 1.3; } .card b { font-size: 1.45rem; line-height: 1.35; }
.bar { display: flex; align-items: center; gap: .5rem; font-size: .9rem; margin: .3rem 0; }
.bar span { width: 6.6em; flex: none; } .bar b { font-weight: 500; white-space: nowrap; font-variant-numeric: tabular-nums; }
.bar i { height: 1em; min-width: 2px; border-radius: 3px; background: var(--a); }
.bar i.b { background: var(--b); } .bar i.c { background: var(--c); } .bar i.n { background: var(--n); }
.when { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem 1rem; margin: 0 0 .8rem; }
.when input { flex: 1 1 14rem; min-width: 9rem; accent-color: var(--a); }
.when output { min-width: 13.5rem; font-variant-numeric: tabular-nums; }
.scale { display: inline-flex; gap: 2px; align-items: center; font-size: .84rem; color: var(--soft); }
.scale i { width: 18px; height: 11px; } .scale i:first-of-type { margin-left: .4em; } .scale i:last-of-type { margin-right: .4em; }
.hosts svg { max-width: 34rem; margin: 0 auto; }
svg .link { stroke: var(--idle); } svg .link.used { cursor: pointer; } svg .link.chosen { stroke-width: 6; }
svg .part { fill: var(--paper); stroke: var(--soft); stroke-width: 1; }
svg .part.gpu { fill: var(--good-back); } svg .part.nic { fill: var(--rule); }
svg .part-name { font-size: 10px; pointer-events: none; }
.chosen p { margin: .2rem 0; overflow-wrap: anywhere; }
.columns { display: flex; align-items: flex-end; gap: 1px; height: 4.5rem; margin-bottom: 1rem; border-bottom: 1px solid var(--rule); }
.columns i { flex: 1; }
.settings { columns: 2 20rem; } .settings table { font-size: .9rem; }
@media (max-width: 34rem) { body { font-size: 15px; } table { font-size: .84rem; }
  th, td { padding: .3rem .2rem; } figure { padding: .7rem .4rem .4rem; }
  svg, svg .tick { font-size: 14px; } td.digest { font-size: .9em; } }
@media print { main { padding: 0; max-width: none; } body { font-size: 11pt; }
  .plots { grid-template-columns: repeat(2, minmax(0, 1fr)); } h2 { break-after: avoid; }
  .when input { display: none; } .legend { min-height: 0; } .cards { grid-template-columns: repeat(3, 1fr); }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
)css";
}

}  // namespace larder::sim
