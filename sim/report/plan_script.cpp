#include "sim/report/scripts.h"

namespace larder::sim {

std::string_view plan_script() {
  return R"js(
const plan = read('plan');
const tried = plan.candidates.map((candidate, place) => ({...candidate, place}));
const called = candidate => candidate.name || candidate.varied || 'as it is';
const possible = tried.filter(candidate => !candidate.error && known(candidate.cost_per_hour));

function head() {
  document.title = 'What a deployment costs, and what it brings';
  document.querySelector('h1').textContent = document.title;
  const objectives = plan.objectives.length ? 'Objectives: ' + plan.objectives.join(', ') : 'Without objectives';
  document.querySelector('.lead').textContent =
    `${count(tried.length)} settings were tried, of which ${count(tried.length - possible.length)} cannot be. ${objectives}.`;
  const of = place => place === null ? null : plan.candidates[place];
  const name = candidate => `${called(candidate)}, ${digits(candidate.cost_per_hour)} an hour`;
  const cheapest = of(plan.cheapest), surviving = of(plan.cheapest_without_one_node);
  const verdict = html('p', {class: `verdict ${cheapest ? 'good' : 'bad'}`},
    cheapest ? `The cheapest that meets them: ${name(cheapest)}.` : 'None of them meets the objectives.',
    cheapest && surviving ? ` And when a node is lost: ${name(surviving)}.` : '',
    cheapest && !surviving ? ' None does so when a node is lost.' : '');
  document.querySelector('.lead').after(verdict);
}

// A point for each setting, and a line along the frontier.
function frontier({title, note, value, format, on, leave_out = () => false}) {
  const all = possible.filter(candidate => known(candidate[value]));
  const some = all.filter(candidate => !leave_out(candidate)), points = some.length ? some : all;
  if (points.length < all.length) note += `; ${all.length - points.length} overloaded left out, whose times grow with the trace`;
  if (!points.length) return figure(title, note, html('p', {}, 'no data'));
  const most_x = Math.max(...points.map(point => point.cost_per_hour)), most_y = Math.max(...points.map(point => point[value]));
  const x_step = step(most_x, 5), y_step = step(most_y, 4, format);
  const x_end = Math.max(x_step * Math.ceil(most_x / x_step - 1e-9), x_step), y_end = Math.max(y_step * Math.ceil(most_y / y_step - 1e-9), y_step);
  const x = cost => frame.left + inner.width * cost / x_end, y = at => frame.top + inner.height * (1 - at / y_end);
  const picture = svg('svg', {viewBox: `0 0 ${frame.width} ${frame.height + 18}`, role: 'img', 'aria-label': title});
  for (let at = 0; at <= y_end * (1 + 1e-9); at += y_step) {
    picture.append(svg('line', {class: 'grid', x1: frame.left, x2: frame.left + inner.width, y1: y(at), y2: y(at)}),
                   svg('text', {class: 'tick', x: frame.left - 6, y: y(at) + 4, 'text-anchor': 'end'}, tick(at, y_step, format)));
  }
  for (let cost = 0; cost <= x_end * (1 + 1e-9); cost += x_step) {
    picture.append(svg('line', {class: 'axis', x1: x(cost), x2: x(cost), y1: frame.top + inner.height, y2: frame.top + inner.height + 4}),
                   svg('text', {class: 'tick', x: x(cost), y: frame.top + inner.height + 17, 'text-anchor': 'middle'}, digits(cost)));
  }
  picture.append(svg('line', {class: 'axis', x1: frame.left, x2: frame.left + inner.width, y1: frame.top + inner.height, y2: frame.top + inner.height}),
                 svg('text', {class: 'label', x: frame.left + inner.width / 2, y: frame.top + inner.height + 36, 'text-anchor': 'middle'}, 'cost an hour'));
  const line = points.filter(point => point[on]).sort((a, b) => a.cost_per_hour - b.cost_per_hour);
  if (line.length) {
    picture.append(svg('path', {class: 'stroke a', d: 'M' + line.map(point => `${x(point.cost_per_hour).toFixed(1)} ${y(point[value]).toFixed(1)}`).join('L')}));
  }
  for (const point of points) {
    picture.append(svg('circle', {class: `dot ${point.meets ? 'c' : 'b'}`, cx: x(point.cost_per_hour), cy: y(point[value]), r: 4},
      svg('title', {}, `${called(point)}: ${digits(point.cost_per_hour)} an hour, ${format(point[value])}`)));
  }
  const legend = html('div', {class: 'legend'}, html('span', {}, html('i', {class: 'c'}), 'meets the objectives'),
    html('span', {}, html('i', {class: 'b'}), 'does not'), html('span', {}, html('i', {class: 'stroke a'}), 'the frontier'));
  return figure(title, note, picture, legend);
}

function all() {
  const rows = tried.map(candidate => [called(candidate),
    known(candidate.cost_per_hour) ? digits(candidate.cost_per_hour) : '-',
    candidate.error || (candidate.meets ? 'meets' : candidate.overloaded ? 'overloaded' : 'does not'),
    candidate.error ? '' : seconds(candidate.ttft_p90_s), candidate.error ? '' : percent(candidate.hit_ratio),
    candidate.error ? '' : hours(candidate.saved_gpu_s)]);
  section('All settings', table(['setting', 'cost an hour', 'objectives', 'TTFT, 90th', 'page hits', 'saved GPU time'], rows));
}

head();
section('Frontiers', html('div', {class: 'plots'},
  frontier({title: 'Cost and time to first token', note: '90th percentile: less is better', value: 'ttft_p90_s', format: seconds, on: 'on_ttft_frontier',
            leave_out: candidate => candidate.overloaded}),
  frontier({title: 'Cost and saved GPU time', note: 'In the run: more is better', value: 'saved_gpu_s', format: hours, on: 'on_saved_frontier'})));
all();
document.body.dataset.ready = 'yes';
)js";
}

}  // namespace larder::sim
