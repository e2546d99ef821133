import { Laboratory } from './run-seed.js';
const args = process.argv.slice(2);
const n = Number(args[0] ?? 10), from = Number(args[1] ?? 1);
const lab = new Laboratory();
const t = process.hrtime.bigint();
let bad = 0; let ev=0;
const kinds = new Map<string, number[]>();
for (let s = from; s < from + n; s++) {
  const v = await lab.seed(s, args.includes('--lines'));
  ev += v.events;
  if (args.includes('--lines')) console.log(v.lines.join('\n'));
  if (v.violation) { bad++; const k = v.violation.split('\n')[0]!.slice(0, 200); if (!args.includes('-q')) console.log(s, v.violation.slice(0, 900)); const kk=k.replace(/[0-9]+/g,'#').slice(0,60); kinds.set(kk,[...(kinds.get(kk)??[]),s]); }
}
console.log({ n, bad, ev, perSec: n / (Number(process.hrtime.bigint() - t) / 1e9) });
for (const [k,v] of kinds) console.log(v.length, k, v.slice(0,6).join(' '));
lab.close();
