#include "sim/report/scripts.h"

namespace larder::sim {

std::string_view run_script() {
  return R"js(
const run = read('run'), links = read('links');

// ---- plots over time -------------------------------------------------------------------------------
const time = run.intervals;
const ends = time.end_s, begins = time.begin_s, last = ends.length ? ends[ends.length - 1] : 0;
const lengths = ends.map((end, i) => end - begins[i]);
const plots = [];  // whose cross hairs move together
function time_step() {
  return [1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400]
    .find(each => last / each <= 6) || step(last, 6);
}
function time_label(value, each) {
  if (each < 60) return String(value);
  return each % 3600 === 0 ? value / 3600 + ' h' : value / 60 + ' min';
}
const x_of = at => frame.left + inner.width * (last > 0 ? at / last : 0);

// A plot: {title, note, lines: [{name, colour, values, area}], format, most (of the axis)}. Lines
// with `area` are stacked on each other. A value that is not known leaves a gap.
function plot(wish) {
  const stacked = wish.lines.some(line => line.area);
  let below = ends.map(() => 0);
  const drawn = wish.lines.map(line => {
    if (!line.area) return {...line, from: null, to: line.values};
    const from = below, to = line.values.map((value, i) => known(value) ? from[i] + value : null);
    below = to.map((value, i) => known(value) ? value : from[i]);
    return {...line, from, to};
  });
  let most = wish.most || 0;
  for (const line of drawn) for (const value of line.to) if (known(value)) most = Math.max(most, value);
  const each = step(most, 4, wish.format), top = most === wish.most ? most : Math.max(each * Math.ceil(most / each - 1e-9), each);
  const y_of = value => frame.top + inner.height * (1 - value / top);
  const picture = svg('svg', {viewBox: `0 0 ${frame.width} ${frame.height}`, role: 'img',
                              'aria-label': wish.title});
  for (let y = 0; y <= top * (1 + 1e-9); y += each) {
    picture.append(
      svg('line', {class: 'grid', x1: frame.left, x2: frame.left + inner.width, y1: y_of(y), y2: y_of(y)}),
      svg('text', {class: 'tick', x: frame.left - 6, y: y_of(y) + 4, 'text-anchor': 'end'},
          tick(y, each, wish.format)));
  }
  for (let x = 0; x <= last * (1 + 1e-9); x += time_step()) {
    picture.append(
      svg('line', {class: 'axis', x1: x_of(x), x2: x_of(x), y1: frame.top + inner.height,
                   y2: frame.top + inner.height + 4}),
      svg('text', {class: 'tick', x: x_of(x), y: frame.top + inner.height + 17, 'text-anchor': 'middle'},
          time_label(x, time_step())));
  }
  picture.append(...fault_marks());
  for (const line of drawn) picture.append(shape(line, y_of));
  picture.append(svg('line', {class: 'axis', x1: frame.left, x2: frame.left + inner.width,
                              y1: frame.top + inner.height, y2: frame.top + inner.height}));
  const hair = svg('line', {class: 'hair', y1: frame.top, y2: frame.top + inner.height, x1: -9, x2: -9});
  picture.append(hair);
  const legend = html('div', {class: 'legend'});
  const values = wish.lines.map(line => {
    const value = html('b');
    legend.append(html('span', {}, html('i', {class: `${line.area ? 'fill' : 'stroke'} ${line.colour}`}),
                       line.name + ' ', value));
    return value;
  });
  const at = html('span', {class: 'at'});
  legend.append(at);
  plots.push(i => {
    const on = i !== null;
    hair.setAttribute('x1', on ? x_of((begins[i] + ends[i]) / 2) : -9);
    hair.setAttribute('x2', on ? x_of((begins[i] + ends[i]) / 2) : -9);
    wish.lines.forEach((line, n) => {
      values[n].textContent = on ? known(line.values[i]) ? wish.format(line.values[i]) : 'no data' : '';
    });
    at.textContent = on ? 'at ' + clock(begins[i]) : '';
  });
  follow(picture);
  const box = figure(wish.title, wish.note, picture, legend);
  if (stacked) box.classList.add('stacked');
  return box;
}

// Its path, in steps of intervals that are not longer than they look.
function shape(line, y_of) {
  let path = '', run_of = [];
  const flush = () => {
    if (!run_of.length) return;
    const forth = run_of.map(i => `${x_of((begins[i] + ends[i]) / 2).toFixed(1)} ${y_of(line.to[i]).toFixed(1)}`);
    if (line.from) {
      const back = run_of.map(i => `${x_of((begins[i] + ends[i]) / 2).toFixed(1)} ${y_of(line.from[i]).toFixed(1)}`);
      path += 'M' + forth.join('L') + 'L' + back.reverse().join('L') + 'Z';
    } else {
      path += forth.length > 1 ? 'M' + forth.join('L') : `M${forth[0]}h.1`;
    }
    run_of = [];
  };
  line.to.forEach((value, i) => known(value) ? run_of.push(i) : flush());
  flush();
  return svg('path', {class: `${line.from ? 'fill' : 'stroke'} ${line.colour}`, d: path});
}

function fault_marks() {
  return run.faults.flatMap(fault => {
    const from = x_of(Math.min(fault.begin_s, last)), until = x_of(Math.min(fault.end_s ?? last, last));
    const until_text = fault.end_s === null ? 'for ever' : 'until ' + clock(fault.end_s);
    return [svg('rect', {class: 'fault', x: from, y: frame.top, width: Math.max(until - from, 1.5),
                         height: inner.height},
                svg('title', {}, `${fault.fault}: from ${clock(fault.begin_s)} ${until_text}`))];
  });
}

function follow(picture) {
  const show = i => plots.forEach(each => each(i));
  picture.addEventListener('pointermove', event => {
    const area = picture.getBoundingClientRect();
    const x = (event.clientX - area.left) / area.width * frame.width;
    const at = (x - frame.left) / inner.width * last;
    const i = ends.findIndex(end => at < end);
    show(at < 0 || i < 0 ? null : i);
  });
  picture.addEventListener('pointerleave', () => show(null));
}

const rate = column => time[column] && time[column].map((value, i) => known(value) && lengths[i] > 0 ? value / lengths[i] : null);
const share = column => time[column].map((value, i) => time.pages[i] > 0 ? value / time.pages[i] : null);

// ---- what it came to -------------------------------------------------------------------------------
function head() {
  const name = run.trace.paths.map(path => path.split('/').filter(Boolean).pop()).join(', ');
  const hosts = run.hardware.hosts.map(host => host.name).join(' and ');
  document.title = `${run.model.name} on ${hosts}`;
  document.querySelector('h1').textContent = document.title;
  const pools = run.nodes.length ? `${run.nodes.length} nodes, a pool of ${bytes(run.sizes.pool_bytes)}` : 'no pool';
  document.querySelector('.lead').textContent =
    `${count(run.requests.arrived)} requests of ${name}; ${run.engines.length} engines, ${pools}; ` +
    `${clock(run.time_s)} of virtual time`;
  const notes = run.notes.map(note => html('p', {class: 'verdict bad'}, note));
  document.querySelector('.lead').after(...notes);
}

// Between what a figure lies, where the run was made with several seeds or costs.
function between(name, format) {
  const {runs, seeds} = run.spread ?? {}, of = run.spread?.[name], number = runs ?? seeds;
  if (!(number > 1) || !known(of?.least) || !known(of?.most)) return '';
  return `; ${format(of.least)} to ${format(of.most)} in ${count(number)} runs`;
}

function cards() {
  const card = (title, value, more) =>
    html('div', {class: 'card'}, html('span', {}, title), html('b', {}, value), html('span', {}, more));
  const {requests, pages, ttft, pool, pressure} = run;
  const saved = run.saved_gpu_s;
  const ended = requests.completed === requests.arrived ? 'all completed'
    : `${count(requests.completed)} completed, ${count(requests.arrived - requests.completed)} rejected or failed`;
  main.insertBefore(html('div', {class: 'cards'},
    card('page hits', percent(pages.hit_ratio), `${count(pages.hits)} of ${count(pages.asked)}${between('hit_ratio', percent)}`),
    card('TTFT, 90th percentile', seconds(ttft.p90_s), `median ${seconds(ttft.p50_s)}, 99th ${seconds(ttft.p99_s)}${between('ttft_p90_s', seconds)}`),
    card('requests', count(requests.arrived), ended),
    card('load of the engines', known(pressure.load) ? percent(pressure.load) : 'no data',
         (pressure.overloaded ? 'more than they can serve' : `${count(pressure.waiting_most)} waited at most`) + between('load', percent)),
    card('saved GPU time', saved ? hours(saved.sum) : 'no data',
         saved ? `${hours(saved.by_pool)} of it by the pool` : 'without GPUs'),
    card('evicted from the pool', bytes(pool.evicted_bytes), `${count(pool.evicted_objects)} objects`)),
    main.querySelector('footer'));
}

function over_time() {
  if (!ends.length) return;
  const all = html('div', {class: 'plots'});
  all.append(
    plot({title: 'Where pages were found', note: 'Shares of the pages of requests that arrived in an interval',
          format: percent, most: 1,
          lines: [{name: 'GPU', colour: 'a', area: true, values: share('gpu_hits')},
                  {name: 'host', colour: 'c', area: true, values: share('host_hits')},
                  {name: 'pool', colour: 'b', area: true, values: share('pool_hits')}]}),
    plot({title: 'Time to first token', note: 'Of requests that arrived in an interval', format: seconds,
          lines: [{name: 'median', colour: 'a', values: time.ttft_p50_s},
                  {name: '90th', colour: 'c', values: time.ttft_p90_s},
                  {name: '99th percentile', colour: 'b', values: time.ttft_p99_s}]}),
    plot({title: 'Arrivals', note: 'Requests a second', format: count,
          lines: [{name: 'arrived', colour: 'a', values: rate('arrived')}]}),
    plot({title: 'Waiting', note: 'Requests that wait for their engine at the end of an interval', format: count,
          lines: [{name: 'waiting', colour: 'b', values: time.waiting}]}),
    plot({title: 'Engines', note: 'Share of their time; a pass counts in the interval in which it ends', format: percent, most: 1,
          lines: [{name: 'prompts', colour: 'a', area: true, values: time.prompts_busy_share},
                  {name: 'decoding', colour: 'c', area: true, values: time.decoding_busy_share}]}),
    plot({title: 'Pool', note: 'Bytes in use, of those of reachable nodes', format: bytes,
          lines: [{name: 'capacity', colour: 'c', values: time.pool_capacity_bytes},
                  {name: 'used', colour: 'a', values: time.pool_used_bytes},
                  {name: 'in quarantine', colour: 'b', values: time.pool_quarantined_bytes}]}),
    plot({title: 'Bytes a second', note: 'Read from the pool, put into it, and evicted', format: bytes,
          lines: [{name: 'read', colour: 'a', values: rate('read_bytes')},
                  {name: 'put', colour: 'c', values: rate('put_bytes')},
                  {name: 'evicted', colour: 'b', values: rate('evicted_bytes')}]}),
    plot({title: 'Master', note: 'Share of the time of its one thread', format: percent,
          lines: [{name: 'busy', colour: 'a', values: time.master_busy_share}]}));
  const body = section('Over time', all);
  if (run.faults.length) {
    body.insertBefore(html('p', {class: 'lead'}, 'Shaded: ' + run.faults.map(fault => fault.fault).join(', ')), all);
  }
}

// Buckets that grow by a sixteenth of a power of two, on an axis of powers of ten.
function ttft_distribution() {
  const buckets = run.ttft.histogram_from_s_until_s_count;
  if (!buckets.length) return figure('Time to first token', 'All requests', html('p', {}, 'no data'));
  const low = Math.max(buckets[0][0], 1e-6), high = Math.max(buckets[buckets.length - 1][1], low * 1.01);
  const from = Math.floor(Math.log10(low)), to = Math.ceil(Math.log10(high));
  const x = value => frame.left + inner.width * (Math.log10(Math.max(value, 10 ** from)) - from) / (to - from);
  const y = value => frame.top + inner.height * (1 - value);
  const picture = svg('svg', {viewBox: `0 0 ${frame.width} ${frame.height}`, role: 'img', 'aria-label': 'Distribution of the time to first token'});
  for (let power = from; power <= to; ++power) {
    picture.append(svg('line', {class: 'grid', x1: x(10 ** power), x2: x(10 ** power), y1: frame.top, y2: frame.top + inner.height}),
      svg('text', {class: 'tick', x: x(10 ** power), y: frame.top + inner.height + 17, 'text-anchor': 'middle'}, seconds(10 ** power)));
  }
  for (let part = 0; part <= 1; part += 0.25) {
    picture.append(svg('line', {class: 'grid', x1: frame.left, x2: frame.left + inner.width, y1: y(part), y2: y(part)}),
      svg('text', {class: 'tick', x: frame.left - 6, y: y(part) + 4, 'text-anchor': 'end'}, 100 * part + '\u00a0%'));
  }
  const total = buckets.reduce((sum, bucket) => sum + bucket[2], 0);
  let sum = 0, path = `M${x(buckets[0][0]).toFixed(1)} ${y(0).toFixed(1)}`;
  for (const [begin, end, number] of buckets) {
    path += `L${x(begin).toFixed(1)} ${y(sum / total).toFixed(1)}`;
    sum += number;
    path += `L${x(end).toFixed(1)} ${y(sum / total).toFixed(1)}`;
  }
  picture.append(svg('path', {class: 'stroke a', d: path}));
  [['p50_s', '50'], ['p90_s', '90'], ['p99_s', '99']].forEach(([name, part]) => {
    const value = run.ttft[name];
    if (!known(value)) return;
    picture.append(svg('circle', {class: 'dot b', cx: x(value), cy: y(part / 100), r: 3.5},
                       svg('title', {}, `${part} % within ${seconds(value)}`)));
  });
  return figure('Time to first token', 'Share of all requests that had it within a time; dots: half, 90 and 99 %', picture);
}

function misses() {
  const reasons = Object.entries(run.pages.misses_by_reason).filter(([, number]) => number > 0)
    .sort((first, second) => second[1] - first[1]);
  const most = reasons.length ? reasons[0][1] : 1;
  const rows = reasons.map(([name, number]) => html('div', {class: 'bar'},
    html('span', {}, words(name)), html('i', {style: `width: ${(60 * number / most).toFixed(1)}%`}),
    html('b', {}, `${count(number)} (${percent(number / run.pages.missed)})`)));
  return figure('Why pages were missed', `${count(run.pages.missed)} pages had to be computed`,
                ...(rows.length ? rows : [html('p', {}, 'none was')]));
}

function tiers() {
  const {pages} = run;
  const rows = [['GPU', pages.gpu_hits, 'a'], ['host', pages.host_hits, 'c'], ['pool', pages.pool_hits, 'b'],
                ['computed', pages.missed, 'n']];
  return figure('Tiers', 'Where the pages of all prompts came from',
    ...rows.map(([name, number, colour]) => html('div', {class: 'bar'}, html('span', {}, name),
      html('i', {class: colour, style: `width: ${pages.asked ? (60 * number / pages.asked).toFixed(1) : 0}%`}),
      html('b', {}, `${count(number)} (${percent(pages.asked ? number / pages.asked : null)})`))));
}

function misses_over_time() {
  const named = Object.entries(run.pages.misses_by_reason).filter(([, number]) => number > 0)
    .sort((first, second) => second[1] - first[1]).slice(0, 5).map(([name]) => name);
  if (!named.length || !ends.length) return '';
  return plot({title: 'Misses over time', note: 'Share of the pages of an interval, by the most frequent reasons',
    format: percent, most: 1, lines: named.map((name, i) => ({name: words(name), colour: 'abcde'[i], area: true,
                                                     values: share('missed_' + name)}))});
}
)js"
         R"js(
// ---- the cluster -------------------------------------------------------------------------------------
// What the highest column stands for: the largest share of all links.
const hottest = Math.min(1, links.edges.reduce((most, edge) => Math.max(most, ...edge.shares), 0.01));
// Colours of a share, for either background, from idle to all that a link can carry. By its root, so that small
// shares differ too.
function heat(value) {
  if (!known(value) || value <= 0) return 'var(--idle)';
  const stops = [[0, [86, 140, 190]], [0.35, [72, 168, 120]], [0.6, [226, 178, 60]], [0.85, [222, 96, 40]], [1, [200, 30, 40]]];
  const at = Math.sqrt(Math.min(value, 1));
  const i = Math.max(1, stops.findIndex(([stop]) => at <= stop));
  const [[low, from], [high, to]] = [stops[i - 1], stops[i]];
  const mix = from.map((part, n) => Math.round(part + (to[n] - part) * (at - low) / (high - low)));
  return `rgb(${mix.join(' ')})`;
}

const marks = new Map();  // name of an edge -> its line
const by_name = new Map(links.edges.map(edge => [edge.link, edge]));
const hosts_shown_most = 16;

function link_line(name, from, to) {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const aside = {x: -(to.y - from.y) / length * 1.8, y: (to.x - from.x) / length * 1.8};
  const shared = name.includes(', ');
  const line = svg('line', {class: 'link', x1: from.x + (shared ? 0 : aside.x), y1: from.y + (shared ? 0 : aside.y),
                            x2: to.x + (shared ? 0 : aside.x), y2: to.y + (shared ? 0 : aside.y),
                            'stroke-width': shared ? 5 : 2.6}, svg('title'));
  if (by_name.has(name)) {
    line.classList.add('used');
    line.addEventListener('click', () => choose(name));
  }
  marks.set(name, line);
  return line;
}
function join(picture, first, second, at) {
  const one = `${first} to ${second}`, other = `${second} to ${first}`;
  const both = [`${first}, ${second}`, `${second}, ${first}`].find(name => by_name.has(name));
  if (both) return picture.append(link_line(both, at(first), at(second)));
  picture.append(link_line(one, at(first), at(second)), link_line(other, at(second), at(first)));
}

// Rows from the devices down to DRAM; the columns are those of the devices.
function host_picture(kind, number) {
  const parts = new Map(kind.parts.map(part => [part.name, {...part, below: [], x: 0, y: 0}]));
  const row = {nic: 0, gpu: 0, disk: 0, 'pcie-switch': 1, 'root-port': 2, socket: 3, dram: 4};
  const order = part => row[part.kind];
  const tree = [];
  for (const link of kind.links) {
    const [first, second] = link.between.map(name => parts.get(name));
    if (first.kind === 'socket' && second.kind === 'socket') continue;
    const [upper, lower] = order(first) <= order(second) && second.kind !== 'dram' ? [first, second] : [second, first];
    (second.kind === 'dram' || first.kind === 'dram' ? tree : lower.below).push(upper);
  }
  let column = 0;
  const gap = 25, rise = 36, head = 40;
  const place = part => {
    part.below.sort((a, b) => a.name.localeCompare(b.name, 'en', {numeric: true}));
    part.below.forEach(place);
    const own = part.below.filter(each => each.x > 0);
    if (own.length) part.x = own.reduce((sum, each) => sum + each.x, 0) / own.length;
    else part.x = 16 + gap * column++;
    part.y = head + rise * order(part);
  };
  const sockets = [...parts.values()].filter(part => part.kind === 'socket');
  sockets.forEach(socket => { place(socket); ++column; });
  for (const link of kind.links) {
    const [first, second] = link.between.map(name => parts.get(name));
    const dram = first.kind === 'dram' ? first : second.kind === 'dram' ? second : null;
    if (dram) Object.assign(dram, {x: (dram === first ? second : first).x, y: head + rise * 4});
  }
  const width = Math.max(16 + gap * column, 120), height = head + rise * 4 + 18;
  const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `host${number}`});
  const at = name => parts.get(name.split('/')[1]);
  for (const link of kind.links) {
    join(picture, `host${number}/${link.between[0]}`, `host${number}/${link.between[1]}`, at);
  }
  const short = {nic: 'N', gpu: 'G', disk: 'D', 'pcie-switch': '', 'root-port': '', socket: 'CPU', dram: 'DRAM'};
  for (const part of parts.values()) {
    if (part.kind === 'nic') {
      const name = `host${number}/${part.name}`;
      const wire = [...by_name.keys()].filter(each => each.startsWith(name + ' to leaf') || (each.startsWith('leaf') && each.endsWith(' to ' + name)));
      for (const each of wire) {
        const up = each.startsWith(name), top = {x: part.x, y: 8};
        picture.append(link_line(each, up ? part : top, up ? top : part));
      }
    }
    const label = short[part.kind] + (short[part.kind].length === 1 ? part.name.replace(/\D+/g, '') : '');
    const size = label.length > 2 ? [36, 17] : label ? [21, 17] : [9, 9];
    picture.append(svg('rect', {class: `part ${part.kind}`, x: part.x - size[0] / 2, y: part.y - size[1] / 2,
                                width: size[0], height: size[1], rx: 3}, svg('title', {}, `host${number}/${part.name}`)));
    if (label) picture.append(svg('text', {class: 'part-name', x: part.x, y: part.y + 3.6, 'text-anchor': 'middle'}, label));
  }
  return figure(`host${number}`, kind.name, picture);
}

function host_kinds() {
  const all = [], kinds = run.hardware.hosts;
  const wished = kinds.length === 1 && run.setting.hosts ? run.setting.hosts : null;
  for (const kind of kinds) for (let i = 0; i < (wished ?? kind.count); ++i) all.push(kind);
  return all;
}

// Switches between hosts: leaves below, spines above.
function network_picture() {
  const switches = new Set();
  for (const edge of links.edges) {
    const ends_of = edge.link.split(' to ');
    if (ends_of.length === 2 && ends_of.every(name => /^(leaf|spine)\d+$/.test(name))) ends_of.forEach(name => switches.add(name));
  }
  if (!switches.size) return '';
  const sorted = kind => [...switches].filter(name => name.startsWith(kind)).sort((a, b) => a.localeCompare(b, 'en', {numeric: true}));
  const leaves = sorted('leaf'), spines = sorted('spine');
  const width = 60 + 70 * Math.max(leaves.length, spines.length);
  const places = new Map();
  [[spines, 24], [leaves, 120]].forEach(([list, y]) => list.forEach((name, i) =>
    places.set(name, {x: width * (i + 0.5) / list.length, y})));
  const picture = svg('svg', {viewBox: `0 0 ${width} 144`, role: 'img', 'aria-label': 'leaves and spines'});
  for (const leaf of leaves) for (const spine of spines) join(picture, leaf, spine, name => places.get(name));
  for (const [name, at] of places) {
    picture.append(svg('rect', {class: 'part', x: at.x - 26, y: at.y - 10, width: 52, height: 20, rx: 3}),
                   svg('text', {class: 'part-name', x: at.x, y: at.y + 3.6, 'text-anchor': 'middle'}, name));
  }
  return figure('Network', 'leaves and spines', picture);
}

let chosen = null;
const chosen_box = html('div', {class: 'chosen', 'aria-live': 'polite'});
function choose(name) {
  if (chosen) marks.get(chosen)?.classList.remove('chosen');
  chosen = name;
  marks.get(name)?.classList.add('chosen');
  const edge = by_name.get(name);
  const columns = edge.shares.map((value, i) => html('i', {
    style: `height: ${Math.max(1, 100 * Math.min(value / hottest, 1)).toFixed(1)}%; background: ${heat(value)}`,
    title: `${clock(links.begins_s[i])} to ${clock(links.ends_s[i])}: ${percent(value)}`}));
  chosen_box.replaceChildren(html('p', {}, html('b', {}, name), ` ${bytes(edge.bytes)} in all, ${percent(Math.max(...edge.shares))} at its peak`),
                             html('div', {class: 'columns'}, ...columns));
}

function cluster() {
  const body = section('The cluster');
  if (!links.edges.length) {
    body.append(html('p', {class: 'lead'}, 'No link carried anything, or the fabric was off.'));
    return;
  }
  const kinds = host_kinds();
  const busy = kinds.map((kind, number) => {
    const mine = links.edges.filter(edge => edge.link.includes(`host${number}/`));
    return {kind, number, bytes: mine.reduce((sum, edge) => sum + edge.bytes, 0)};
  });
  const shown = [...busy].sort((a, b) => b.bytes - a.bytes).slice(0, hosts_shown_most).sort((a, b) => a.number - b.number);
  const slider = html('input', {type: 'range', min: -1, max: links.ends_s.length - 1, value: -1, id: 'when',
                                'aria-label': 'When'});
  const when = html('output', {for: 'when'});
  const paint = () => {
    const i = Number(slider.value);
    when.textContent = i < 0 ? 'the peak of each link'
      : `from ${clock(links.begins_s[i])} to ${clock(links.ends_s[i])}`;
    for (const [name, line] of marks) {
      const edge = by_name.get(name), value = edge ? i < 0 ? Math.max(...edge.shares) : edge.shares[i] : 0;
      line.style.stroke = heat(value);
      line.querySelector('title').textContent = `${name}: ${edge ? percent(value) : 'idle'}`;
    }
  };
  slider.addEventListener('input', paint);
  const scale = html('span', {class: 'scale'}, 'idle', ...[0.01, 0.05, 0.15, 0.3, 0.5, 0.75, 1].map(value =>
    html('i', {style: `background: ${heat(value)}`, title: percent(value)})), '100 %');
  body.append(html('p', {class: 'lead'},
    `Use of each link and direction, of what it can carry; a transfer counts when it ends, so that short intervals may have more than all. N: a NIC, with its way to the leaf above it; G: a GPU; D: a disk. ` +
    (shown.length < kinds.length ? `The ${shown.length} busiest of ${kinds.length} hosts. ` : '') + 'Choose a link to see it over time.'),
    html('div', {class: 'when'}, slider, when, scale), chosen_box,
    html('div', {class: 'plots hosts'}, ...shown.map(host => host_picture(host.kind, host.number)), network_picture()));
  paint();
  if (run.busiest_links.length) {
    body.append(table(['busiest links', 'carried', 'can carry', 'use', 'peak'], run.busiest_links.map(link =>
      [link.link, bytes(link.bytes), bytes(link.bytes_per_s) + '/s', percent(link.share), percent(link.peak_share)])));
  }
}

function setting() {
  const text = value => value === null ? '-' : typeof value === 'number' ? count(value) : String(value);
  const rows = Object.entries(run.setting).filter(([, value]) => value !== '').map(([name, value]) => [name, text(value)]);
  section('What was run', html('div', {class: 'settings'}, table(['parameter', 'value'], rows)));
}

head();
cards();
over_time();
section('The pool against the bounds', html('div', {class: 'plots'}, ...pool_curve(run.pool_curve, run.sizes.pool_bytes)));
section('Pages and waiting', html('div', {class: 'plots'}, tiers(), misses(), ttft_distribution(), misses_over_time()));
cluster();
setting();
document.body.dataset.ready = 'yes';
)js";
}

}  // namespace larder::sim
