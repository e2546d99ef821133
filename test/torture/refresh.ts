import { seededRandom } from '../../src/runtime/random.js';
import { type Round, startTorture, steps, wires } from './refresh-round.js';

/* npx tsx test/torture/refresh.ts [rounds] [seed]: kills at random for as long as it is told; prints how it went. */
const rounds = Number(process.argv[2] ?? 1_000);
const random = seededRandom(Number(process.argv[3] ?? 1));
const pick = <Value>(from: readonly Value[]): Value =>
  from[Math.floor(random.fraction() * from.length)] as Value;

const torture = await startTorture();
let failures = 0;
for (let number = 1; number <= rounds; number += 1) {
  const round: Round = { step: pick(steps), when: pick(['before', 'after']), wire: pick(wires) };
  try {
    await torture.round(round);
  } catch (error) {
    failures += 1;
    process.stderr.write(`round ${number} ${JSON.stringify(round)}: ${String(error)}\n`);
  }
  if (number % 100 === 0) process.stderr.write(`${number} rounds, ${failures} failures\n`);
}
await torture.close();
process.stdout.write(`${rounds} rounds, ${failures} sign-ins lost\n`);
process.exitCode = failures === 0 ? 0 : 1;
