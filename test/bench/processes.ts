import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { defined } from '../../src/domain/defined.js';
import { compiled } from './compiled.js';
import { changeAt } from './feed-client.js';
import type { Scale } from './measures.js';
import { type ServedFeed, serveFeed } from './serve-feed.js';
import { type Amount, type Result, runVariant, type Variant } from './variants.js';

export interface RunningFeed {
  readonly url: string;
  /** Marks a record as changed or gone. Returns the position of the change in the log. */
  change(no: number, gone?: boolean): Promise<number>;
}

/** Pages are made in a separate process, which costs the reader's process nothing. */
export async function withFeed<Value>(
  { apart }: Scale,
  records: number,
  work: (feed: RunningFeed) => Promise<Value>,
  latencyMs = 0,
): Promise<Value> {
  const feed = await (apart ? forkFeed : serveFeed)(records, latencyMs);
  try {
    return await work({ url: feed.url, change: changeAt(feed.url) });
  } finally {
    await feed.close();
  }
}

const forkFeed = (records: number, latencyMs: number): Promise<ServedFeed> =>
  forkServer('test/bench/feed-server.ts', records, latencyMs);

/** Starts a server in a process of its own, which sends its address and ends with the connection to this one. */
export async function forkServer(script: string, ...numbers: readonly number[]): Promise<ServedFeed> {
  const server = fork(compiled(script), numbers.map(String), { execArgv: [] });
  const [url] = (await once(server, 'message')) as [string];
  return {
    url,
    close: async () => {
      server.disconnect();
      await once(server, 'exit');
    },
  };
}

/** Runs in a separate process, with its own memory and warm-up. */
export async function alone(
  { apart, ...scale }: Scale,
  name: Variant,
  feed: RunningFeed,
  more: Partial<Amount> = {},
): Promise<Result> {
  const amount: Amount = { ...scale, ...more };
  if (!apart) return runVariant(name, feed.url, amount);
  const { turns, warmUp, rounds, database, seconds } = amount;
  const env = {
    ...process.env,
    ...defined({ BENCH_DATABASE: database }),
    ...(seconds === undefined ? {} : { BENCH_SECONDS: String(seconds) }),
  };
  const args = [
    '--expose-gc',
    compiled('test/bench/variant.ts'),
    name,
    feed.url,
    ...[turns, warmUp, rounds].map(String),
  ];
  const stdout = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, args, { env }, (error, out) =>
      error === null ? resolve(out) : reject(error),
    );
  });
  return JSON.parse(stdout) as Result;
}

/** Measures the variants round by round in turns, because the machine's speed varies. */
export async function inTurns<Name extends Variant>(
  scale: Scale,
  names: readonly Name[],
  feed: RunningFeed,
): Promise<(name: Name, key: string) => number[]> {
  const results = new Map<Name, Result[]>(names.map((name) => [name, []]));
  for (let round = 0; round < scale.rounds; round += 1)
    for (const name of names) results.get(name)?.push(await alone(scale, name, feed));
  return (name, key) => (results.get(name) ?? []).flatMap((result) => result[key] ?? []);
}
