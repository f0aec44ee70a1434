"use strict";
(() => {
const tip = document.getElementById("tip");

// What a table says at a column, for the rows that a strip shows.
const say = (strips, draw, column) => {
  const figure = strips.closest(".figure"), table = figure && figure.querySelector("table.numbers");
  if (!table || !draw || !draw.dataset.rows) return "";
  const first = Number(strips.dataset.first), heads = table.tHead.rows[0].cells;
  const lines = [heads[first + column].textContent];
  for (const at of draw.dataset.rows.split(" ")) {
    const cells = table.tBodies[0].rows[Number(at)].cells;
    const words = cells[first + column].textContent;
    if (words && words !== "-" || draw.dataset.rows.split(" ").length < 4)
      lines.push([...cells].slice(0, first).map(cell => cell.textContent).join(", ") + "\u2002" + (words || "\u2013"));
  }
  return lines.join("\n");
};

const show = (words, x, y) => {
  if (!words) { hide(); return; }
  tip.textContent = words;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(6, Math.min(x + 14, innerWidth - box.width - 6)) + "px";
  tip.style.top = (y + box.height + 24 > innerHeight ? y - box.height - 12 : y + 16) + "px";
};

const mark = (strips, draw, column, count) => {
  let cursor = strips.querySelector(".cursor");
  if (!cursor) { cursor = document.createElement("div"); cursor.className = "cursor"; strips.append(cursor); }
  const outer = strips.getBoundingClientRect(), inner = draw.getBoundingClientRect();
  cursor.style.left = inner.left - outer.left + inner.width * column / count + "px";
  cursor.style.width = inner.width / count + "px";
};

const hide = () => {
  tip.hidden = true;
  document.querySelectorAll(".cursor").forEach(cursor => cursor.remove());
};

document.addEventListener("pointermove", event => {
  const target = event.target instanceof Element ? event.target : null;
  const told = target && target.closest("[data-tip]");
  if (told) { show(told.dataset.tip, event.clientX, event.clientY); return; }
  const draw = target && target.closest(".draw[data-rows]"), strips = draw && draw.closest(".strips");
  const count = strips ? Number(strips.dataset.count) : 0;
  if (!strips) { if (!tip.hidden) hide(); return; }
  if (!count) { show(rowOf(strips, draw), event.clientX, event.clientY); return; }
  const box = draw.getBoundingClientRect();
  const column = Math.max(0, Math.min(count - 1, Math.floor((event.clientX - box.left) / box.width * count)));
  mark(strips, draw, column, count);
  show(say(strips, draw, column), event.clientX, event.clientY);
});

// A whole row of the table, where the picture has no columns.
const rowOf = (strips, draw) => {
  const table = strips.closest(".figure").querySelector("table.numbers");
  const heads = table.tHead.rows[0].cells, cells = table.tBodies[0].rows[Number(draw.dataset.rows.split(" ")[0])].cells;
  return [...cells].map((cell, at) => at ? heads[at].textContent + "\u2002" + (cell.textContent || "\u2013") : cell.textContent)
    .join("\n");
};

// The arrows walk a focused picture: left and right through the quarters, up and down through the rows.
document.addEventListener("keydown", event => {
  const strips = event.target instanceof Element ? event.target.closest(".strips") : null;
  if (event.key === "Escape") hide();
  if (!strips || !event.key.startsWith("Arrow")) return;
  const draws = [...strips.querySelectorAll(".draw[data-rows]")], count = Number(strips.dataset.count);
  if (!draws.length) return;
  event.preventDefault();
  const move = (name, step, length) => {
    const now = Math.max(0, Math.min(length - 1, Number(strips.dataset[name] ?? (step < 0 ? length : -1)) + step));
    strips.dataset[name] = now;
  };
  strips.dataset.row ??= 0;
  if (event.key === "ArrowLeft" || event.key === "ArrowRight") move("column", event.key === "ArrowLeft" ? -1 : 1, count || 1);
  else move("row", event.key === "ArrowUp" ? -1 : 1, draws.length);
  strips.dataset.column ??= 0;
  const draw = draws[Number(strips.dataset.row)], box = draw.getBoundingClientRect(), column = Number(strips.dataset.column);
  if (count) mark(strips, draw, column, count);
  show(count ? say(strips, draw, column) : rowOf(strips, draw), count ? box.left + box.width * (column + .5) / count : box.left, box.bottom);
});
document.addEventListener("focusout", hide);
document.addEventListener("scroll", () => { if (!tip.hidden && !document.activeElement.closest(".strips")) hide(); }, true);

// Copy: tab-separated, numbers in full, so that a spreadsheet takes them as numbers.
const copyText = async words => {
  const area = document.createElement("textarea"), before = document.activeElement;
  area.value = words; area.style.position = "fixed"; area.style.opacity = "0";
  document.body.append(area); area.select();
  const done = document.execCommand("copy");
  area.remove();
  before?.focus({preventScroll: true});
  if (done) return true;
  try { await navigator.clipboard.writeText(words); return true; } catch { return false; }
};
const plain = cell => {
  const words = cell.dataset.v ?? cell.textContent.trim();
  return (/^[=+@\t]/.test(words) || /^-(?![\d.])/.test(words) ? "'" + words : words).replace(/[\t\n\r]+/g, " ");
};
document.addEventListener("click", async event => {
  const button = event.target instanceof Element ? event.target.closest("button.copy") : null;
  if (!button) return;
  const table = button.parentElement.querySelector("table");
  const words = [...table.rows].map(row => [...row.cells].map(plain).join("\t")).join("\n");
  const done = await copyText(words), said = button.nextElementSibling;
  button.dataset.copied = done ? words : "";
  said.textContent = done ? "Copied" : "Could not be copied: select the table instead";
  setTimeout(() => { said.textContent = ""; }, 4000);
});

// Another scenario: its part of the page is packed in the file.
const picker = document.getElementById("scenario"), body = document.getElementById("scenario-body");
const packed = new Map([...document.querySelectorAll("script.packed")].map(part => [part.dataset.name, part]));
const unpack = async part => {
  const bytes = Uint8Array.from(atob(part.textContent), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
};
const choose = async name => {
  if (!packed.has(name)) return;
  const open = new Set([...body.querySelectorAll("details[open]")].map(one => one.closest("[id]").id));
  body.classList.add("busy");
  body.innerHTML = await unpack(packed.get(name));
  body.classList.remove("busy");
  body.querySelectorAll(".figure > details").forEach(one => { if (open.has(one.closest("[id]").id)) one.open = true; });
  picker.value = name;
  hide();
};
if (picker && packed.size && "DecompressionStream" in window) {
  picker.disabled = false;
  picker.addEventListener("change", () => { location.hash = "scenario=" + encodeURIComponent(picker.value); });
  document.addEventListener("click", event => {
    const link = event.target instanceof Element ? event.target.closest("a[data-scenario]") : null;
    if (!link) return;
    event.preventDefault();
    location.hash = "scenario=" + encodeURIComponent(link.dataset.scenario);
    scrollTo(0, 0);
  });
  const follow = () => {
    const found = location.hash.match(/^#scenario=(.*)$/);
    if (!found) return;
    try { choose(decodeURIComponent(found[1])); } catch { /* a spoilt link shows what is there */ }
  };
  addEventListener("hashchange", follow);
  follow();
}
// A fact is shown by opening the table it stands in.
const reveal = () => {
  const target = location.hash.startsWith("#fact-") && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  target.closest("details").open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", reveal);
})();
