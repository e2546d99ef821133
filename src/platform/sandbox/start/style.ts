/** Additional CSS of the start page. */
export const startStyle = `
.start { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 0 2rem; }
.start > * { min-width: 0; }
.links { display: flex; flex-wrap: wrap; gap: .5rem; }
.links a { display: inline-flex; align-items: center; min-height: 2.75rem; padding: 0 1rem; border: 1px solid var(--line);
  border-radius: 10px; }
a { color: var(--accent); }
.copy li { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .75rem; padding: .625rem 0;
  border-top: 1px solid var(--line); }
.copy li:first-child { border-top: 0; }
.copy .what { flex: 1 1 100%; font-size: .875rem; }
.copy code, .copy pre { flex: 1 1 12rem; min-width: 0; margin: 0; padding: .5rem .75rem; border-radius: 8px;
  background: var(--ground); font: .8125rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; user-select: all; }
.copy button { flex: 0 0 6.5rem; padding-inline: .5rem; }
summary { cursor: pointer; padding: .625rem 0; font-weight: 600; font-size: .9375rem; }
.time { font-size: 1.25rem; font-weight: 700; font-variant-numeric: tabular-nums; margin: 0; }
#log .scroll { max-height: 30rem; overflow: auto; }
#log td:nth-child(-n + 2) { white-space: nowrap; }
#log td:nth-child(n + 3) { overflow-wrap: anywhere; }
#log td:nth-child(3) { min-width: 12rem; }
#log code { font-size: .8125rem; }
.wrong { color: var(--bad); font-weight: 600; }
.actions + p, .links + p { margin-top: .75rem; }
@media (max-width: 52rem) {
  #log table, #log tbody, #log tr, #log td { display: block; }
  #log thead { display: none; }
  #log tr { border-top: 1px solid var(--line); padding: .5rem 0; }
  #log td:nth-child(n) { border: 0; padding: .125rem 0; white-space: normal; min-width: 0; }
  #log td::before { content: attr(data-head) ": "; display: inline; color: var(--soft); font-size: .75rem; }
}
`;
