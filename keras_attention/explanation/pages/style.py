"""How the report looks, on a screen and on paper."""

PAGE_STYLE = """
* { box-sizing: border-box; }
html { color-scheme: light dark; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK KR", "NanumGothic",
  "Apple SD Gothic Neo", "Malgun Gothic", sans-serif; }
main { max-width: 1100px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 17px; margin: 0; color: var(--quiet); font-weight: 600; }
h2 { font-size: 20px; margin: 0 0 6px; }
h3 { font-size: 16px; margin: 22px 0 6px; }
p { margin: 6px 0 12px; max-width: 76ch; }
.quiet { color: var(--quiet); }
section, header { background: var(--surface); border: 1px solid var(--edge); border-radius: 12px;
  padding: 22px 26px; margin: 0 0 18px; }
.verdict { font-size: 32px; line-height: 1.2; font-weight: 700; margin: 6px 0; }
.facts { color: var(--quiet); font-size: 14px; margin: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; font-weight: 600; color: var(--quiet); vertical-align: bottom; }
th, td { padding: 7px 10px; border-bottom: 1px solid var(--edge); vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.outcome { display: inline-block; padding: 1px 10px; border-radius: 99px; font-weight: 600;
  font-size: 13px; }
.yes { color: var(--yes); background: var(--yes-ground); }
.no { color: var(--no); background: var(--no-ground); }
.partly { color: var(--partly); background: var(--partly-ground); }
.undefined { color: var(--quiet); background: var(--page); }
.limits { border-left: 3px solid var(--edge); padding-left: 12px; color: var(--quiet);
  font-size: 14.5px; }
td.bar { min-width: 84px; }
td.bar i { display: block; height: 4px; border-radius: 2px; background: var(--accent);
  margin-top: 3px; }
.tokens { line-height: 2.1; margin: 4px 0 12px; }
.tokens span { padding: 3px 5px; border-radius: 4px; margin-right: 2px; white-space: pre; }
.maps { margin: 14px 0 26px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@page { margin: 12mm; }
@media print {
  /* Paper is white, and what is coloured means something. */
  html { color-scheme: light; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { background: none; font-size: 12.5px; }
  main { max-width: none; padding: 0; }
  section, header { border: 0; border-radius: 0; padding: 0; margin: 0 0 22px; }
  .scroll { overflow: visible; }
  table { font-size: 10.5px; table-layout: auto; }
  th, td { padding: 4px 6px; }
  td.number, th.number { white-space: normal; }
  .outcome { font-size: 10.5px; padding: 1px 7px; }
  td.bar { min-width: 0; }
  .verdict { font-size: 26px; }
  .limits { font-size: 11.5px; }
  h1, h2, h3, thead { break-after: avoid; }
  tr, svg.figure, .tokens, .limits, .maps { break-inside: avoid; }
  svg.figure { max-height: 250mm; }
}
@media screen and (max-width: 640px) { section, header { padding: 16px; }
  .verdict { font-size: 25px; }
  .wide { display: none; } td.number, th.number { white-space: normal; } }
"""
