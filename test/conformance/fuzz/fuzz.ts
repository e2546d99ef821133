import { defined } from '../../../src/domain/defined.js';
import type { ApiDocument } from '../../../src/platform/openapi/document.js';
import type { Answered, RunningPlatform } from '../running-platform.js';
import { type Chance, chanceOf } from './chance.js';
import { type Credential, credentialsOf } from './credentials.js';
import { furnish } from './furnish.js';
import { Known } from './known.js';
import { type DescribedOperation, operationsIn, type Request, requestFor } from './request.js';

/**
 * The requests of a round build on one another. The data is reset between rounds, so each round can be replayed
 * alone.
 */
export const roundSize = 25;

export interface FuzzWish {
  readonly seed: number;
  readonly rounds: readonly number[];
  /** Called after every round. */
  readonly onRound?: (round: number, report: FuzzReport) => void;
}

export interface FuzzReport {
  readonly requests: number;
  /** How often each operation was called, and how often it succeeded. */
  readonly asked: ReadonlyMap<string, { asked: number; granted: number }>;
  readonly kinds: ReadonlySet<string>;
}

/** Text that must never appear: exception messages, paths of source files, words of the database. */
const leak = /\n\s+at |\.ts:\d|\.js:\d|node:internal|SQLITE|SqliteError|TypeError|RangeError|ZodError/;

/**
 * Sends the platform requests that its description allows, and some that it does not, with every kind of
 * credential. Throws at the first response that is a server fault, is not as declared (every response is checked
 * against the document) or exposes internals. The error says how to reproduce it.
 */
export async function fuzz(world: RunningPlatform, { seed, rounds, onRound }: FuzzWish): Promise<FuzzReport> {
  const document: ApiDocument = (await world.get('/openapi.json')).body;
  const operations = operationsIn(document);
  const credentials = credentialsOf(world);
  const { known, welcome } = await lookAround(world, operations, credentials);
  const asked = new Map(operations.map(({ id }) => [id, { asked: 0, granted: 0 }]));
  const kinds = new Set<string>();
  const { state } = world.services;
  let requests = 0;
  for (const round of rounds) {
    const chance = chanceOf(seed * 1_000_003 + round);
    const learned = known.copy();
    state.exec('SAVEPOINT round');
    try {
      for (let step = 0; step < roundSize; step += 1) {
        // Half of the steps cover all operations in turn, half are drawn at random, so that any operation can follow
        // any other.
        const turn = (round * roundSize + step) >> 1;
        const operation = step % 2 === 0 ? at(operations, turn % operations.length) : chance.pick(operations);
        const credential = credentialFor(operation, chance, credentials, welcome);
        const request = requestFor(document, operation, chance, learned);
        kinds.add(credential.kind);
        const { status, body, headers } = await judged(
          world,
          operation,
          request,
          credential,
          `--seed ${seed} --round ${round}`,
        );
        requests += 1;
        const count = asked.get(operation.id) ?? { asked: 0, granted: 0 };
        count.asked += 1;
        if (status < 400) count.granted += 1;
        if (status < 300) learned.learn(operation.path, pathOnly(request.path), body);
        learned.visited(headers.get('set-cookie'), body);
      }
    } finally {
      state.exec('ROLLBACK TO round');
      state.exec('RELEASE round');
    }
    onRound?.(round, { requests, asked, kinds });
  }
  return { requests, asked, kinds };
}

const pathOnly = (path: string): string => (path.split('?')[0] ?? '').replace(/^\/api\/v2/, '');

async function judged(
  world: RunningPlatform,
  operation: DescribedOperation,
  { path, headers, body }: Request,
  credential: Credential,
  again: string,
): Promise<Answered> {
  const token = credential.token(operation.scopes);
  const about = `${operation.id} as ${credential.kind}: ${operation.method} ${path.slice(0, 300)} ${JSON.stringify(headers)} ${body?.slice(0, 500) ?? ''}`;
  const failed = (why: string, cause?: unknown): Error =>
    new Error(`${why}\n  ${about}\n  again: npm run fuzz:platform -- ${again}`, { cause });
  let answer: Answered;
  try {
    answer = await world.send(operation.method, path, {
      headers,
      ...defined({ token, body }),
    });
  } catch (error) {
    throw failed(error instanceof Error ? error.message : String(error), error);
  }
  if (answer.status >= 500) throw failed(`answered ${answer.status}`);
  const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
  const leaked = leak.exec(text);
  if (leaked !== null)
    throw failed(`shows its insides: ${text.slice(Math.max(0, leaked.index - 80), leaked.index + 200)}`);
  return answer;
}

/** Mostly returns a credential that has succeeded on an operation of the same kind, otherwise any. */
function credentialFor(
  operation: DescribedOperation,
  chance: Chance,
  credentials: readonly Credential[],
  welcome: ReadonlyMap<string, readonly Credential[]>,
): Credential {
  const admitted = welcome.get(operation.tag) ?? [];
  return admitted.length > 0 && chance.happens(0.7) ? chance.pick(admitted) : chance.pick(credentials);
}

interface Sights {
  readonly known: Known;
  readonly welcome: ReadonlyMap<string, readonly Credential[]>;
}

/**
 * Reads every listing with every credential, shallow paths first, to learn what exists and who may see it.
 */
async function lookAround(
  world: RunningPlatform,
  operations: readonly DescribedOperation[],
  credentials: readonly Credential[],
): Promise<Sights> {
  const known = new Known(operations.map(({ path }) => path));
  const welcome = new Map<string, Credential[]>();
  const chance = chanceOf(0);
  known.learn('/', '/', world.ready);
  const depth = ({ path }: DescribedOperation): number => path.split('{').length;
  const reads = operations
    .filter(({ method, scopes }) => method === 'GET' && scopes !== null)
    .sort((a, b) => depth(a) - depth(b));
  await furnish(world, known);
  for (const operation of reads) {
    for (const credential of credentials) {
      const token = credential.token(operation.scopes);
      const path = known.path(chance, operation.path, () => null);
      const { status, body } = await world.send('GET', path, defined({ token }));
      if (status >= 300) continue;
      known.learn(operation.path, path, body);
      const held = welcome.get(operation.tag) ?? [];
      if (!held.includes(credential)) welcome.set(operation.tag, [...held, credential]);
    }
  }
  return { known, welcome };
}

function at<Value>(values: readonly Value[], index: number): Value {
  const value = values[index];
  if (value === undefined) throw new Error(`no value at index ${index}`);
  return value;
}
