#include "sim/report/scripts.h"

namespace larder::sim {

std::string_view curve_script() {
  return R"js(
// What the pool had of what it was asked for, and what pools of other sizes would have had: two
// figures, or what says that the run's files do not have that.
function pool_curve(curve, pool_bytes) {
  if (!curve) {
    return [html('p', {class: 'lead'}, curve === null
      ? 'No data: this run was made without the curve of its pool.'
      : 'No data: these files are of an earlier version of larder-sim, which did not keep the curve of the pool. Replay it again for that.')];
  }
  if (!curve.asked) return [html('p', {class: 'lead'}, 'No page was asked of the pool.')];
  return [curve_plot(curve, pool_bytes), curve_bars(curve)];
}

const of_asked = (curve, found) => known(found) ? found / curve.asked : null;

// By size on an axis of powers of two, the share that was found.
function curve_plot(curve, pool_bytes) {
  const {pages, bytes: sizes, lru_found, belady_found} = curve.points;
  const least = Math.max(1, sizes[0] ?? 1);
  const limited = curve.pool_pages !== null;
  const own = limited ? curve.pool_pages * curve.page_room_bytes : null;
  const whole = curve.different_pages * curve.page_room_bytes;
  const most = Math.max(2 * least, 1.15 * Math.max(whole, own ?? 0));
  const high = Math.max(curve.infinite_found, curve.found, 1) / curve.asked;
  const each = step(high, 4, percent), top = Math.min(1, each * Math.ceil(high / each - 1e-9));
  const x = size => frame.left + inner.width * Math.log(Math.max(size, least) / least) / Math.log(most / least);
  const y = share => frame.top + inner.height * (1 - share / top);
  const picture = svg('svg', {viewBox: `0 0 ${frame.width} ${frame.height + 18}`, role: 'img',
                              'aria-label': 'What pools of each size find'});
  for (let share = 0; share <= top * (1 + 1e-9); share += each) {
    picture.append(
      svg('line', {class: 'grid', x1: frame.left, x2: frame.left + inner.width, y1: y(share), y2: y(share)}),
      svg('text', {class: 'tick', x: frame.left - 6, y: y(share) + 4, 'text-anchor': 'end'}, tick(share, each, percent)));
  }
  const powers = Math.log2(most / least), every = Math.max(1, Math.ceil(powers / 5));
  for (let power = Math.ceil(Math.log2(least)); 2 ** power <= most; power += every) {
    picture.append(
      svg('line', {class: 'axis', x1: x(2 ** power), x2: x(2 ** power), y1: frame.top + inner.height, y2: frame.top + inner.height + 4}),
      svg('text', {class: 'tick', x: x(2 ** power), y: frame.top + inner.height + 17, 'text-anchor': 'middle'},
          bytes(2 ** power).replace('.00', '')));
  }
  picture.append(
    svg('line', {class: 'axis', x1: frame.left, x2: frame.left + inner.width, y1: frame.top + inner.height, y2: frame.top + inner.height}),
    svg('text', {class: 'label', x: frame.left + inner.width / 2, y: frame.top + inner.height + 36, 'text-anchor': 'middle'},
        'memory of the pool, all nodes together'));
  const line = (found, colour) => {
    const there = sizes.map((size, i) => i).filter(i => known(found[i]));
    // A pool of all pages and more finds no more.
    const end = there.length ? `H${(frame.left + inner.width).toFixed(1)}` : '';
    const path = there.map(i => `${x(sizes[i]).toFixed(1)} ${y(found[i] / curve.asked).toFixed(1)}`);
    if (path.length) picture.append(svg('path', {class: `stroke ${colour}`, d: 'M' + path.join('L') + end}));
  };
  const infinite = y(curve.infinite_found / curve.asked);
  picture.append(svg('line', {class: 'limit', x1: frame.left, x2: frame.left + inner.width, y1: infinite, y2: infinite}));
  line(belady_found, 'c');
  line(lru_found, 'a');
  const at = limited ? x(own) : frame.left + inner.width;
  const size = limited ? `${count(curve.pool_pages)} pages, ${bytes(pool_bytes ?? own)}` : 'a pool without limit';
  picture.append(svg('circle', {class: 'dot b', cx: at, cy: y(of_asked(curve, curve.found)), r: 5},
                     svg('title', {}, `this run: ${percent(of_asked(curve, curve.found))}, ${size}`)));
  const hair = svg('line', {class: 'hair', y1: frame.top, y2: frame.top + inner.height, x1: -9, x2: -9});
  picture.append(hair);
  const said = html('span', {class: 'at'});
  picture.addEventListener('pointermove', event => {
    const area = picture.getBoundingClientRect();
    const place = (event.clientX - area.left) / area.width * frame.width;
    let nearest = 0;
    sizes.forEach((each_size, i) => {
      if (Math.abs(x(each_size) - place) < Math.abs(x(sizes[nearest]) - place)) nearest = i;
    });
    if (!sizes.length) return;
    hair.setAttribute('x1', x(sizes[nearest]));
    hair.setAttribute('x2', x(sizes[nearest]));
    const best = known(belady_found[nearest]) ? `, any policy at most ${percent(belady_found[nearest] / curve.asked)}` : '';
    said.textContent = `${bytes(sizes[nearest])}, ${count(pages[nearest])} pages: LRU ${percent(lru_found[nearest] / curve.asked)}${best}`;
  });
  picture.addEventListener('pointerleave', () => {
    hair.setAttribute('x1', -9);
    hair.setAttribute('x2', -9);
    said.textContent = '';
  });
  const entry = (shape, name) => html('span', {}, html('i', {class: shape}), name);
  const legend = html('div', {class: 'legend'}, entry('b', 'this run'), entry('stroke a', 'LRU, exactly'),
    ...(belady_found.some(known) ? [entry('stroke c', 'the bound of every policy (Belady)')] : []),
    entry('stroke n', 'without limit'), said);
  const box = figure('What pools of each size find', `Of ${count(curve.asked)} pages that the engines asked their pool for; this run: ${size}`, picture, legend);
  box.id = 'pool-curve';
  return box;
}

// The same in the run's own size.
function curve_bars(curve) {
  const rows = [['this run', curve.found, 'b'], ['… in time', curve.fetched, 'b'], ['LRU', curve.lru_found, 'a'], ['any policy', curve.belady_found, 'c'],
                ['no limit', curve.infinite_found, 'n']].filter(([, found]) => known(found));
  const most = Math.max(...rows.map(([, found]) => found), 1);
  const more = known(curve.belady_found)
    ? `A better policy could have at most ${count(Math.max(0, curve.belady_found - curve.found))} more in this size, and more memory ${count(Math.max(0, curve.infinite_found - curve.belady_found))} beyond that.`
    : 'More pages were asked for and put than the bound of every policy is computed for.';
  return figure('In the size of this pool', 'Pages that were there of those that the pool was asked for, and those that engines then fetched in time',
    ...rows.map(([name, found, colour]) => html('div', {class: 'bar'}, html('span', {}, name),
      html('i', {class: colour, style: `width: ${(60 * found / most).toFixed(1)}%`}),
      html('b', {}, `${count(found)} (${percent(of_asked(curve, found))})`))),
    html('p', {class: 'note'}, more));
}
)js";
}

}  // namespace larder::sim
