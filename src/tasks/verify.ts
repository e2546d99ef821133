import { type CurrentInvestment, readInvestment, readOfferingStats } from '../client/investments.js';
import type { SourceConfig } from '../config/config.js';
import { type Engine, type EngineParts, startEngine } from '../daemon/engine.js';
import { syncSources } from '../daemon/sync-sources.js';
import { isWithin } from '../daemon/within-filters.js';
import { Fault } from '../domain/fault.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import { readMirror } from '../store/reads/read-mirror.js';
import type { TickReport } from '../sync/ports.js';
import type { ManualAsk } from '../sync/schedule-state.js';
import { CallBudget } from '../verify/call-budget.js';
import type { Platform } from '../verify/ports.js';
import { type Drift, isOfCatalog, type SourceReceipt } from '../verify/receipt.js';
import { type VerifyAsk, verifySource } from '../verify/verify-source.js';
import { storedRowsOf } from './stored-rows.js';
import { type WithCatalog, withCatalog } from './verify-catalog.js';

export type { AmountDifference, Drift, SourceReceipt } from '../verify/receipt.js';

export interface VerifyOptions extends VerifyAsk {
  /** The request budget of the comparison, ticks and retries included. A repair does not count. */
  readonly calls: number;
  readonly repair: boolean;
  /** The pause between finding a difference and checking it again. */
  readonly pauseMillis?: number;
}

export interface VerifiedSource extends WithCatalog {
  /** What listing again repaired; null when none was run. */
  readonly repair: Repair | null;
}

export interface Repair {
  /** The differences before it. The investments were listed again unless all of these are of companies, rounds and posts. */
  readonly drift: readonly Drift[];
  readonly outcome: TickReport['outcome'];
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

export interface VerifyReceipt {
  readonly at: Instant;
  readonly equal: boolean;
  readonly calls: { readonly allowed: number; readonly spent: number };
  readonly sources: readonly VerifiedSource[];
}

/** A derived change appears in the feed within a second or two. */
const pauseMillisDefault = 2_000;

/** The lease of a dead holder expires after 30 seconds; a running one releases it after its tick. */
const leaseTries = 35;
const leaseWaitMillis = 1_000;

/** Verifies the sources one by one, so that the budget goes to the first ones and the receipt lists what is left. */
export async function verify(
  parts: EngineParts,
  options: VerifyOptions,
  signal: AbortSignal,
): Promise<VerifyReceipt> {
  const at = instantFromMillis(parts.clock.now());
  const budget = new CallBudget(options.calls);
  const engine = await startEngine({ ...parts, beforeCall: () => budget.take(), asksGrants: false });
  const stop = () => {
    // The page being written is finished; the receipt then says where the comparison stopped.
    void engine.sync.close();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    const sources: VerifiedSource[] = [];
    for (const source of parts.sources ?? parts.config.sources) {
      const look = await comparisonOf(source, parts, engine, { ...options, budget }, signal);
      const whole = async () => await wholeReceipt(await look(), source, parts, engine, options, signal);
      const first = await whole();
      if (first.outcome !== 'drift' || !options.repair) {
        sources.push({ ...first, repair: null });
        continue;
      }
      budget.lift();
      const repaired = first.drift.every(isOfCatalog)
        ? nothingListed
        : await listed(source, parts, engine, signal);
      if (options.full && repaired.outcome === 'done') await engine.dimensions?.refresh(source.name, true);
      budget.renew();
      const again = await whole();
      sources.push({ ...again, repair: { drift: first.drift, ...repaired } });
    }
    return {
      at,
      equal: sources.every(({ outcome }) => outcome === 'equal'),
      calls: { allowed: budget.allowed, spent: budget.spent },
      sources,
    };
  } finally {
    signal.removeEventListener('abort', stop);
    await engine.close();
  }
}

/** The repair of companies, rounds and posts alone: they are listed without the investments. */
const nothingListed = { outcome: 'done', added: 0, changed: 0, removed: 0 } as const;

/** Lists the investments of a source again. */
async function listed(
  source: SourceConfig,
  parts: EngineParts,
  engine: Engine,
  signal: AbortSignal,
): Promise<Omit<Repair, 'drift'>> {
  const { report } = await tick(source, parts, engine, { resync: true }, signal);
  const { outcome, applied } = report;
  const { added, changed, removed } = applied;
  return { outcome, added, changed, removed };
}

/** Adds what `--full` compares beside the records, to a receipt whose comparison reached its end. */
async function wholeReceipt(
  receipt: SourceReceipt,
  { name }: SourceConfig,
  { config, clock }: EngineParts,
  { dimensions }: Engine,
  { full, pauseMillis = pauseMillisDefault }: VerifyOptions,
  signal: AbortSignal,
): Promise<WithCatalog> {
  if (!full || dimensions === null || receipt.ended !== null) return { ...receipt, catalog: null };
  const pause = () => clock.wait(pauseMillis, signal);
  return await withCatalog(receipt, { source: name, dimensions, database: config.database, pause, signal });
}

/** Returns a function that compares one source with the platform, on a new connection that cannot write. */
async function comparisonOf(
  source: SourceConfig,
  parts: EngineParts,
  engine: Engine,
  options: VerifyOptions & { readonly budget: CallBudget },
  signal: AbortSignal,
): Promise<() => Promise<SourceReceipt>> {
  const { config, clock } = parts;
  const platform = await platformOf(source, parts, engine, signal);
  return () =>
    readMirror(config.database, (db) =>
      verifySource(
        {
          source: source.name,
          scope: {
            offering: source.filters.offeringId ?? null,
            partial: source.filters.investorId !== undefined,
          },
          stored: storedRowsOf(db, source, config),
          platform,
          catchUp: async () => {
            const { report, publishedThrough } = await tick(source, parts, engine, {}, signal);
            if (report.outcome !== 'done')
              throw (report.outcome === 'stopped' ? options.budget.ended() : null) ?? notCaughtUp(report);
            return publishedThrough;
          },
          pause: () => clock.wait(options.pauseMillis ?? pauseMillisDefault, signal),
          clock,
        },
        options,
      ),
    );
}

async function platformOf(
  source: SourceConfig,
  { config }: EngineParts,
  { platform }: Engine,
  signal: AbortSignal,
): Promise<Platform> {
  const api = platform.client.as(platform.tokensOf(source.access));
  const [sync] = await syncSources(config, [source], platform);
  if (sync === undefined) throw new Error(`${source.name} is no source`);
  const feed = sync.feed('routine');
  return {
    stats: (offering) => readOfferingStats(api, offering, signal),
    current: async (id) => {
      const read = await readInvestment(api, id, signal);
      return read === null || isOutside(source, read) ? null : read;
    },
    page: (position) => feed.page(position, signal),
  };
}

/** Returns whether the investment has left the source, for example for another round. The feed has it until that is published. */
function isOutside({ filters }: SourceConfig, { item, publishedMatches }: CurrentInvestment): boolean {
  return publishedMatches === true && item.kind === 'record' && !isWithin(filters, item.investment);
}

/** Retries while another daemon holds the source, which it does for each of its short ticks. */
async function tick(
  { name }: SourceConfig,
  { clock }: EngineParts,
  { sync }: Engine,
  ask: ManualAsk,
  signal: AbortSignal,
) {
  for (let tries = 1; ; tries += 1) {
    if (signal.aborted) throw new Fault('stopped', 'stopped by a signal');
    const result = await sync.tick(name, ask);
    if (result.report.code !== 'lease_lost' || tries === leaseTries) return result;
    await clock.wait(leaseWaitMillis, signal);
  }
}

function notCaughtUp({ outcome, code, message, retryAt }: TickReport): Fault {
  const about = {
    // The next step after a failure with a code is that of the code.
    ...(code === null ? { hint: 'rosterd status' } : {}),
    ...(retryAt === null ? {} : { retryAt }),
  };
  const fallback = outcome === 'waiting' ? 'rate_limited' : 'stopped';
  return new Fault(
    code ?? fallback,
    message ?? `the source could not be brought up to date (${outcome})`,
    about,
  );
}
