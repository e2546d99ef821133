import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { built, isBuilt, sources } from '../life.js';
import { openLocation, type Place } from '../place.js';
import type { Sent } from './send.js';

/*
 * npm run torture:receiver -- [--strangers 1000] [--deliveries 200] [--burst 1000] [--p99 200] [--only "drip
 * bodies"]
 *
 * Runs a real daemon, strangers in their own processes and a sender in another, over real sockets. For each kind
 * of disturbance: sends deliveries one after the other while the strangers are connected, then a burst at once.
 * Exits with 1 unless all were accepted, the sequential ones within `--p99` milliseconds.
 */
const { values } = parseArgs({
  options: {
    strangers: { type: 'string', default: '1000' },
    deliveries: { type: 'string', default: '200' },
    burst: { type: 'string', default: '1000' },
    p99: { type: 'string', default: '200' },
    only: { type: 'string' },
  },
});
const single = ['idle', 'drip headers', 'drip bodies', 'keep alive'];
const rounds: readonly (readonly [string, readonly string[]])[] = [
  ['nobody', []],
  ...single.map((way) => [way, [way]] as const),
  ['all four', single],
  // Once more, to show that memory used for the strangers is not used again.
  ['all four', single],
  ['nobody', []],
];
const everyMillis = 50;

const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

function start(script: string, args: readonly (string | number)[], env: Record<string, string> = {}) {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', path, ...args.map(String)], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(child);
  const line = new Promise<string>((resolve, reject) => {
    let printed = '';
    child.stdout.on('data', (chunk) => {
      printed += String(chunk);
      if (printed.includes('\n')) resolve(printed);
    });
    child.on('close', () => reject(new Error(`${script} ended early`)));
  });
  line.catch(() => {});
  return { child, line };
}

async function send(place: Place, count: string, every: number): Promise<Sent> {
  const [company] = place.sandbox.ready.companies;
  const { port } = new URL(place.hook.url);
  const { line } = start('./send.ts', [port, count, every, company?.installation ?? '', company?.id ?? ''], {
    HOOK: place.hook.secret,
  });
  return JSON.parse(await line) as Sent;
}

/** Returns resident memory in MB, where the system reports it for another process. */
function residentMegabytes(pid: number | undefined): number | null {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kilobytes === undefined ? null : Math.round(Number(kilobytes) / 1024);
  } catch {
    return null;
  }
}

const program = isBuilt() ? built : sources;
const place = await openLocation({ program, records: 100 });
let failed = false;
try {
  const daemon = place.rosterd(['run']);
  if (!(await daemon.ready)) throw new Error(`the daemon did not start:\n${daemon.printed()}`);
  const { port } = new URL(place.hook.url);
  const date = new Date().toISOString().slice(0, 10);
  process.stdout.write(
    `${date}, ${cpus().length} × ${cpus()[0]?.model}, Node ${process.versions.node}, ${program.extension === 'js' ? 'built' : 'sources'}\n` +
      `${values.strangers} strangers of each kind, ${values.deliveries} deliveries ${everyMillis} ms apart, bursts of ${values.burst}; milliseconds\n\n`,
  );
  const row = (cells: readonly (string | number)[]) =>
    process.stdout.write(`${cells.map((cell) => String(cell).padStart(14)).join('')}\n`);
  row(['strangers', 'accepted', 'p50', 'p99', 'burst', 'burst p50', 'burst longest', 'memory MB']);
  await send(place, '100', everyMillis);
  for (const [name, ways] of rounds.filter(([one]) => one === (values.only ?? one))) {
    const holding = ways.map((way) => start('./hold.ts', [port, values.strangers, way]));
    await Promise.all(holding.map(({ line }) => line));
    const steady = await send(place, values.deliveries, everyMillis);
    const burst = await send(place, values.burst, 0);
    const memory = residentMegabytes(daemon.child.pid);
    for (const { child } of holding) child.kill('SIGKILL');
    const whole = (sent: Sent, of: string) =>
      sent.accepted === Number(of) ? of : JSON.stringify(sent.others);
    row([
      ...[name, whole(steady, values.deliveries), steady.p50, steady.p99],
      ...[whole(burst, values.burst), burst.p50, burst.longest, memory ?? '-'],
    ]);
    failed ||=
      steady.accepted !== Number(values.deliveries) ||
      burst.accepted !== Number(values.burst) ||
      steady.p99 > Number(values.p99);
  }
  daemon.kill('SIGTERM');
  await daemon.ended;
} finally {
  await place.killAll();
  await place.close();
}
process.exitCode = failed ? 1 : 0;
