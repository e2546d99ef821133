/** Styles of the reference page: wider than the pages with forms, with a table of contents at the side. */
export const docsStyle = `
html { scroll-padding-top: 1rem; }
body { grid-template-columns: minmax(0, 1fr); }
main { max-width: 72rem; align-self: start; padding: clamp(1rem, 3vw, 2.25rem); }
h1 { font-size: 1.75rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; }
h4 { margin: 1.25rem 0 .375rem; font-size: .9375rem; }
h4 .soft { font-weight: 400; }
a { color: var(--accent); }
nav ul { display: grid; gap: .125rem; font-size: .9375rem; }
nav a { display: block; padding: .25rem 0; text-decoration: none; }
nav a:hover { text-decoration: underline; }
nav { border: 1px solid var(--line); border-radius: 10px; padding: .75rem 1rem; margin: 1.5rem 0; }
.operation, .schema { border: 1px solid var(--line); border-radius: 10px; margin: .5rem 0; padding: 0 1rem; }
.operation[open], .schema[open] { padding-bottom: 1rem; }
.operation > summary, .schema > summary { cursor: pointer; padding: .75rem 0; min-height: 2.75rem; list-style: none;
  display: flex; flex-wrap: wrap; gap: .25rem .625rem; align-items: baseline; }
summary::-webkit-details-marker { display: none; }
.does { color: var(--soft); flex: 1 1 12rem; font-size: .9375rem; }
.method { font: 600 .75rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; min-width: 3.75rem;
  text-align: center; padding: .125rem .375rem; border-radius: 6px; border: 1px solid var(--line); color: var(--accent); }
.method.delete { color: var(--bad); }
.method.post, .method.put, .method.patch { color: var(--warn); }
.path { font-weight: 600; font-size: .9375rem; }
.flag { font-size: .75rem; font-weight: 600; color: var(--warn); background: var(--warn-ground); padding: .125rem .5rem;
  border-radius: 999px; }
.status { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.fields { font-size: .9375rem; }
.fields li { padding: .375rem 0; border-top: 1px solid var(--line); }
.fields > li:first-child { border-top: 0; }
.fields .fields { margin: .375rem 0 0 .25rem; padding-left: .875rem; border-left: 2px solid var(--line); }
.name { font-weight: 600; }
.type, .note { color: var(--soft); }
.note { display: block; font-size: .875rem; }
.example { margin: .625rem 0 0; }
.example summary { cursor: pointer; color: var(--accent); font-size: .9375rem; padding: .25rem 0; }
pre { margin: .25rem 0 0; padding: .75rem 1rem; background: var(--ground); border: 1px solid var(--line);
  border-radius: 10px; overflow-x: auto; overflow-wrap: normal; font-size: .8125rem; line-height: 1.45; }
pre code { font-size: inherit; }
table { border-collapse: collapse; width: 100%; font-size: .9375rem; }
th, td { text-align: start; vertical-align: top; padding: .5rem .75rem .5rem 0; border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--soft); font-weight: 400; }
td:first-child { white-space: nowrap; }
:target { outline: 2px solid var(--accent); outline-offset: 4px; border-radius: 10px; }
@media (min-width: 64rem) {
  main { display: grid; grid-template-columns: 14rem minmax(0, 1fr); gap: 0 2.5rem; }
  main > header { grid-column: 1 / -1; }
  nav { position: sticky; top: 2.5rem; align-self: start; margin: 1.5rem 0 0; }
}
@media (max-width: 30rem) {
  body { padding: .5rem; }
  .operation, .schema { padding: 0 .75rem; }
  .does { flex-basis: 100%; }
  table, tbody, tr, td { display: block; } thead { display: none; }
  tr { border-top: 1px solid var(--line); padding: .5rem 0; } td { border: 0; padding: 0; }
}
`;
