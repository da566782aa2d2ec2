#include "sim/report/scripts.h"

namespace larder::sim {

std::string_view script_tools() {
  return R"js(
const read = id => JSON.parse(document.getElementById(id).textContent);
const SVG = 'http://www.w3.org/2000/svg';

// ---- elements ------------------------------------------------------------------------------------
function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
function html(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
const main = document.querySelector('main');
function section(title, ...children) {
  const body = html('section', {}, html('h2', {}, title), ...children);
  main.insertBefore(body, main.querySelector('footer'));
  return body;
}
function figure(title, note, ...children) {
  return html('figure', {}, html('figcaption', {}, title, html('span', {}, note)), ...children);
}

// ---- numbers for people ----------------------------------------------------------------------------
const known = value => value !== null && value !== undefined && Number.isFinite(value);
function digits(value) {
  const size = Math.abs(value);
  return value.toLocaleString('en-US',
    {maximumFractionDigits: size >= 100 || Number.isInteger(value) ? 0 : size >= 1 ? 2 : 4});
}
const count = value => known(value) ? digits(value) : 'no data';
const percent = value => known(value) ? (100 * value).toFixed(value < 0.1 ? 2 : 1) + '\u00a0%' : 'no data';
function seconds(value) {
  if (!known(value)) return 'no data';
  if (value === 0) return '0\u00a0s';
  if (value < 1e-3) return digits(Math.round(value * 1e7) / 10) + '\u00a0us';
  if (value < 1) return digits(Number((value * 1e3).toPrecision(3))) + '\u00a0ms';
  return digits(Number(value.toPrecision(3))) + '\u00a0s';
}
function bytes(value) {
  if (!known(value)) return 'no data';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  while (value >= 1024 && unit + 1 < units.length) { value /= 1024; ++unit; }
  return (unit === 0 ? digits(value) : value.toFixed(2)) + '\u00a0' + units[unit];
}
function clock(value) {
  const whole = Math.round(value), two = part => String(part).padStart(2, '0');
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}
const words = name => name.replaceAll('_', ' ');
function hours(value) {
  return known(value) ? value >= 3600 ? digits(value / 3600) + '\u00a0h' : seconds(value) : 'no data';
}
function table(head_row, rows) {
  return html('div', {class: 'scroll'}, html('table', {class: 'data'},
    html('thead', {}, html('tr', {}, ...head_row.map(cell => html('th', {}, cell)))),
    html('tbody', {}, ...rows.map(row => html('tr', {}, html('th', {}, row[0]), ...row.slice(1).map(cell => html('td', {}, cell)))))));
}

// ---- plots ------------------------------------------------------------------------------------------
const frame = {width: 420, height: 236, left: 58, right: 22, top: 12, bottom: 28};
const inner = {width: frame.width - frame.left - frame.right,
               height: frame.height - frame.top - frame.bottom};

// The round distance of ticks; of bytes in powers of two.
function step(most, wanted, format) {
  if (!(most > 0)) return 1;
  if (format === hours && most >= 3600) return 3600 * step(most / 3600, wanted);
  if (format === bytes) return 2 ** Math.ceil(Math.log2(most / wanted));
  const rough = most / wanted, power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find(factor => factor * power >= rough * (1 - 1e-9));
}
function tick(value, each, format) {
  if (format === percent && each >= 0.01) return Math.round(100 * value) + '\u00a0%';
  return value === 0 ? '0' : format === bytes ? bytes(value).replace('.00', '') : format(value);
}
)js";
}

}  // namespace larder::sim
