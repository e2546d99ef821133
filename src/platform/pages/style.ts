/**
 * The stylesheet of all pages, inlined so that a page is one response. The content security policy allows only the
 * digest of this style. There are no fonts, images or scripts.
 */
export const stylesheet = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f4f5f7, #101216);
  --paper: light-dark(#ffffff, #191c22);
  --ink: light-dark(#14171c, #eceef2);
  --soft: light-dark(#565e6b, #a3acba);
  --line: light-dark(#dde1e7, #2e333d);
  --accent: light-dark(#1f4fd8, #8fb0ff);
  --on-accent: light-dark(#ffffff, #0d1730);
  --warn: light-dark(#8a4b00, #ffc478);
  --warn-ground: light-dark(#fff4e3, #2b2113);
  --bad: light-dark(#a3212b, #ff9a9f);
}
*, *::before, *::after { box-sizing: border-box; }
html { font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; -webkit-text-size-adjust: 100%; }
body { margin: 0; min-height: 100vh; min-height: 100dvh; background: var(--ground); color: var(--ink);
  display: grid; grid-template-rows: 1fr auto; justify-items: center; padding: 1rem; gap: 1rem; }
main { width: 100%; max-width: 30rem; align-self: center; background: var(--paper); border: 1px solid var(--line);
  border-radius: 14px; padding: clamp(1.25rem, 5vw, 2.25rem); overflow-wrap: anywhere; }
footer { width: 100%; max-width: 30rem; color: var(--soft); font-size: .8125rem; text-align: center;
  overflow-wrap: anywhere; }
h1 { margin: 0 0 .5rem; font-size: 1.375rem; line-height: 1.25; letter-spacing: -.01em; text-wrap: balance; }
h2 { margin: 1.5rem 0 .5rem; font-size: .9375rem; }
p { margin: 0 0 1rem; }
form + p { margin-top: 1.25rem; }
main > :last-child { margin-bottom: 0; }
ul { margin: 0; padding: 0; list-style: none; }
code { font: .875em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.lead, .soft { color: var(--soft); }
p.soft { font-size: .875rem; }
.badge { display: inline-block; margin: 0 0 1rem; padding: .125rem .625rem; border-radius: 999px; font-size: .75rem;
  font-weight: 600; color: var(--warn); background: var(--warn-ground); }
.person { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem .75rem; margin: 1rem 0;
  padding: .75rem 1rem; border: 1px solid var(--line); border-radius: 10px; font-size: .9375rem; }
.person span { flex: 1 1 12rem; min-width: 0; }
.scopes li { padding: .625rem 0; border-top: 1px solid var(--line); }
.scopes li:first-child { border-top: 0; }
.scopes code { display: block; color: var(--soft); }
.scopes .strong { color: var(--warn); font-weight: 600; }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.5rem; }
.actions form, .actions button { flex: 1 1 9rem; }
.actions form { display: flex; }
button, .button { font: inherit; font-weight: 600; min-height: 2.75rem; padding: .5rem 1.125rem; border-radius: 10px;
  border: 1px solid var(--line); background: var(--paper); color: var(--ink); cursor: pointer; text-align: center; }
button:hover { border-color: var(--soft); }
button.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
button.link { min-height: 0; padding: 0; border: 0; background: none; color: var(--accent); font-weight: 400;
  text-decoration: underline; }
button.row { display: block; width: 100%; text-align: start; font-weight: 400; margin-top: .5rem; }
button.row strong, button.row span { display: block; }
button.row span, .person .soft { font-size: .875rem; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
label { display: block; margin: 1.25rem 0 .375rem; font-weight: 600; font-size: .9375rem; }
input { font: inherit; width: 100%; min-height: 2.75rem; padding: .5rem .75rem; border-radius: 10px;
  border: 1px solid var(--soft); background: var(--paper); color: var(--ink); }
.bad { color: var(--bad); }
dl { display: grid; grid-template-columns: auto 1fr; gap: .25rem 1rem; margin: 0; font-size: .9375rem; }
dt { color: var(--soft); } dd { margin: 0; }
select, textarea { font: inherit; width: 100%; padding: .5rem .75rem; border-radius: 10px;
  border: 1px solid var(--soft); background: var(--paper); color: var(--ink); }
.steps { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 0 0 1.25rem; padding: 0; list-style: none;
  counter-reset: step; font-size: .8125rem; color: var(--soft); }
.steps li::before { counter-increment: step; content: counter(step) ". "; }
input + .bad, textarea + .bad, input + .soft { margin-top: .5rem; }
.steps [aria-current] { color: var(--accent); font-weight: 700; }
.amount { font-size: 1.75rem; font-weight: 700; letter-spacing: -.02em; margin: 0 0 1rem; }
blockquote { margin: 0 0 1rem; padding: .75rem 1rem; border-inline-start: 3px solid var(--line); white-space: pre-wrap; }
a { color: var(--accent); }
a.button { display: inline-block; text-decoration: none; }
.wide { grid-template-columns: minmax(0, 1fr); }
.wide main, .wide footer { max-width: 64rem; }
.wide main { align-self: start; }
section { margin-top: 2rem; }
section > h2 { margin-top: 0; font-size: 1.0625rem; }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: .875rem; }
th, td { text-align: start; vertical-align: top; padding: .5rem .75rem .5rem 0; border-top: 1px solid var(--line);
  overflow-wrap: normal; }
th { color: var(--soft); font-weight: 600; border-top: 0; }
td code.long { display: block; min-width: 14rem; overflow-wrap: anywhere; }
.card { padding: 1rem 1.25rem; margin-top: 1rem; border: 1px solid var(--line); border-radius: 12px; }
.card h3 { margin: 0 0 .5rem; font-size: 1rem; }
.card details { margin-top: .75rem; }
.card summary { cursor: pointer; padding: .5rem 0; }
.card summary .soft { font-size: .8125rem; }
.card code, li code { font-size: .8125rem; }
.tags { display: flex; flex-wrap: wrap; gap: .375rem; }
.tags code { display: block; padding: .125rem .5rem; border-radius: 6px; background: var(--ground); }
.pill { display: inline-block; padding: 0 .5rem; border: 1px solid var(--line); border-radius: 999px;
  font-size: .75rem; color: var(--soft); }
.pill.good { color: var(--accent); border-color: currentColor; }
.pill.wrong { color: var(--bad); border-color: currentColor; }
@media (min-width: 64rem) { body { padding: 2.5rem; } }
@media (max-width: 30rem) {
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } dd:last-child { margin-bottom: 0; }
  .stacked, .stacked tbody, .stacked tr, .stacked td { display: block; }
  .stacked thead { display: none; }
  .stacked tr { border-top: 1px solid var(--line); padding: .5rem 0; }
  .stacked td { border: 0; padding: .125rem 0; overflow-wrap: anywhere; }
  .stacked td::before { content: attr(data-head); display: block; color: var(--soft); font-size: .75rem; }
  .stacked td code.long { min-width: 0; }
}
`;
