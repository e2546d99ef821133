import type { WireFetch } from '../../src/client/fetch/fetch.js';
import type { SourceName } from '../../src/domain/ids.js';
import { millisOf } from '../../src/domain/instant.js';
import { seededRandom } from '../../src/runtime/random.js';
import { compared, type Record, startSandboxAndMirror } from './sandbox-and-mirror.js';

export interface BootstrapPlan {
  readonly records: number;
  readonly perPage: number;
  readonly kills: number;
  readonly onProgress?: (text: string) => void;
}

export interface BootstrapFacts {
  readonly held: readonly Record[];
  readonly truth: readonly Record[];
  readonly kills: number;
  /** Pages of the listing that were requested more than once. */
  readonly pagesTwice: number;
  readonly pages: number;
  /** The most requests of the token in one window, and how many the platform refused. */
  readonly busiestWindow: number;
  readonly refused: number;
  readonly hours: number;
}

/**
 * Runs a bootstrap under the platform's limit of 1,000 requests an hour with an engine that dies repeatedly: its
 * connections are cut and its database closes mid-work, and a new engine opens the file.
 */
export async function bootstrapUnderFire(plan: BootstrapPlan): Promise<BootstrapFacts> {
  const world = await startSandboxAndMirror({ companies: 1, records: plan.records, limits: true });
  try {
    const [company] = world.companies;
    if (company === undefined) throw new Error('the sandbox has no company');
    const began = world.sandbox.clock.now();
    const sources = [{ name: 'acme', token: company.token, company: company.id }];
    const pages = Math.ceil(plan.records / plan.perPage);
    const random = seededRandom(11);
    const deaths = Array.from({ length: plan.kills }, () => 1 + Math.floor(random.fraction() * (pages - 1)));
    deaths.sort((one, other) => one - other);
    let answered = 0;
    let kills = 0;
    // Ends with the first complete tick: each earlier one died once or waited for the next hour.
    for (;;) {
      let dead = false;
      const wire: WireFetch = async (url, init) => {
        if (dead) throw new TypeError('the process is dead');
        const answer = await world.wire(url, init);
        if (dead) throw new TypeError('the process is dead');
        answered += 1;
        if (answered >= (deaths[0] ?? Number.POSITIVE_INFINITY)) {
          deaths.shift();
          kills += 1;
          dead = true;
          void engine.mirror.close();
          // A dead engine does not back off and retry.
          void engine.sync.close();
          throw new TypeError('the process is dead');
        }
        return answer;
      };
      const engine = await world.engine(sources, { wire, perPage: plan.perPage });
      const { report } = await engine.sync.tick('acme' as SourceName);
      await engine.close();
      plan.onProgress?.(`${answered} pages, ${kills} deaths, ${dead ? 'died' : report.outcome}`);
      if (dead) world.advance(31_000);
      else if (report.outcome === 'waiting' && report.retryAt !== null)
        world.advance(millisOf(report.retryAt) - world.sandbox.clock.now());
      else if (report.outcome === 'done') break;
      else throw new Error(`the tick ended as ${report.outcome}: ${report.message}`);
    }
    const asked = (await world.control('GET', '/requests')) as { requests: readonly Asked[] };
    const own = asked.requests.filter(({ path }) => path.endsWith('/investments'));
    // The request that checks what a token may read is also a short page, but belongs to no listing.
    const listing = own.filter(
      ({ query, status }) =>
        status === 200 && query.updated_since === undefined && query.per_page === String(plan.perPage),
    );
    const times = new Map<string, number>();
    for (const { query } of listing)
      times.set(query.cursor ?? 'first', (times.get(query.cursor ?? 'first') ?? 0) + 1);
    const reader = world.reader();
    return {
      held: reader.prepare<[], Record>(`SELECT ${compared} FROM investments ORDER BY id`).all(),
      kills,
      pages: times.size,
      pagesTwice: [...times.values()].reduce((sum, count) => sum + count - 1, 0),
      busiestWindow: busiestWindow(own.map(({ at }) => Date.parse(at))),
      refused: own.filter(({ status }) => status === 429).length,
      hours: (world.sandbox.clock.now() - began) / 3_600_000,
      truth: await world.truth(company.tokenWithoutIdentity, { company_id: company.id }),
    };
  } finally {
    await world.close();
  }
}

interface Asked {
  readonly path: string;
  readonly query: { readonly cursor?: string; readonly updated_since?: string; readonly per_page?: string };
  readonly status: number;
  readonly at: string;
}

/**
 * Returns the most of these times in one window of the platform: an hour that starts with its first request.
 */
function busiestWindow(times: readonly number[]): number {
  let start = Number.NEGATIVE_INFINITY;
  let count = 0;
  let most = 0;
  for (const time of times) {
    if (time >= start + 3_600_000) [start, count] = [time, 0];
    count += 1;
    most = Math.max(most, count);
  }
  return most;
}
