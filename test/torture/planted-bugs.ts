import { bug, type PlantedBug } from '../support/planting.js';

export interface TortureBug extends PlantedBug {
  /** The scenario whose judge must find it. */
  readonly scenario: string;
  readonly database: 'sqlite' | 'postgres';
}

const of = (scenario: string, ...[name, file, search, replace]: Parameters<typeof bug>): TortureBug => ({
  scenario,
  database: 'sqlite',
  ...bug(name, file, search, replace),
});

/** For a scenario that plays with the mirror on a server. */
const onServer = (...parts: Parameters<typeof of>): TortureBug => ({ ...of(...parts), database: 'postgres' });

/** The torture of several processes on a server, which has its own judge. */
export const fleet = 'fleet';
/** The torture of hosts and of the network between them. */
export const network = 'network';

const sqlite = 'src/store/dialect/sqlite';
const postgres = 'src/store/dialect/postgres';

/** Bugs that the judges of real processes must find, at least one for each scenario. */
export const plantedBugs: readonly TortureBug[] = [
  of(
    'accept-to-tick',
    'the receiver answers 2xx before the inbox row exists',
    'src/inbox/receiver.ts',
    'parts.inbox.accept({\n      ...event,\n      receivedAt,\n      body: delivery.body,\n      lane: laneOf(sources),\n    });',
    "(parts.clock.wait(200).then(() => parts.inbox.accept({ ...event, receivedAt, body: delivery.body, lane: laneOf(sources) })).catch(() => {}), Promise.resolve<'stored' | 'duplicate'>('stored'));",
  ),
  of(
    'accept-to-tick',
    'a position is stored without its page',
    'src/sync/perform-tick.ts',
    'mirror.applyPage(this.#lease, this.#pageAtHand().parse(), reached, ending)',
    'mirror.applyPage(this.#lease, { ...this.#pageAtHand().parse(), items: this.#pageAtHand().parse().items.slice(1) }, reached, ending)',
  ),
  of(
    'accept-to-tick',
    'a position is committed before its rows',
    `${sqlite}/mirror.ts`,
    'return this.#commit(durability, lease, write, ending !== undefined);',
    'this.#commit(durability, lease, (commit) => applyPage(commit, { ...page, items: [] }, reached));\n    return this.#commit(durability, lease, write, ending !== undefined);',
  ),
  of(
    'refresh',
    'rotated tokens stay in memory',
    'src/client/tokens/refreshing-token.ts',
    'await store.write(fresh);',
    '',
  ),
  of(
    'refresh',
    'a token pair is used before it is on disk',
    'src/client/tokens/refreshing-token.ts',
    'await store.write(fresh);',
    'void this.#parts.clock.wait(300).then(() => store.write(fresh)).catch(() => {});',
  ),
  of(
    'sigterm',
    'SIGTERM ends the process at once',
    'src/cli/run.ts',
    'stop.abort(signalled);\n    out.note(',
    'stop.abort(signalled);\n    io.quit(exitCodes.stopped);\n    out.note(',
  ),
  of(
    'two-writers',
    'the fence is not checked',
    'src/store/lease-rules.ts',
    'if (held?.fence === lease.fence) return;',
    'if (held?.fence !== undefined) return;',
  ),
  of(
    fleet,
    'the fence is not checked for fleet writes',
    'src/store/lease-rules.ts',
    'if (held?.fence === lease.fence) return;',
    'if (held?.fence !== undefined) return;',
  ),
  of(
    network,
    'the fence is not checked while the network breaks',
    'src/store/lease-rules.ts',
    'if (held?.fence === lease.fence) return;',
    'if (held?.fence !== undefined) return;',
  ),
  of(
    network,
    'a host answers 2xx before the delivery is committed',
    'src/inbox/receiver.ts',
    'parts.inbox.accept({\n      ...event,\n      receivedAt,\n      body: delivery.body,\n      lane: laneOf(sources),\n    });',
    "(parts.inbox.accept({ ...event, receivedAt, body: delivery.body, lane: laneOf(sources) }).catch(() => {}), Promise.resolve<'stored' | 'duplicate'>('stored'));",
  ),
  of(
    network,
    'a source that was taken over is not read again',
    'src/fleet/fleet.ts',
    'follow: parts.follow,',
    'follow: (gained) => { if (turns < 2) parts.follow(gained); },',
  ),
  of(
    network,
    'messages that a host missed are never looked for',
    'src/daemon/start-work.ts',
    "drain?.look().catch((error: unknown) => logger.debug({ error }, 'the inbox could not be looked at'));",
    'void logger;',
  ),
  of(
    network,
    'a delivery counts as stored when the connection to the database breaks',
    `${postgres}/accept-deliveries.ts`,
    'await pool.query({ ...insertOne, values: row });',
    'await pool.query({ ...insertOne, values: row }).catch(() => ({ rowCount: 1 }));',
  ),
  of(
    network,
    'a follower of changes forgets its position with its connection',
    'src/reading/changes.ts',
    '        after = change.seq;\n',
    '',
  ),
  of(
    'locked',
    'a locked database is answered with 2xx',
    'src/inbox/receiver.ts',
    "throw error instanceof Refusal ? error : new Refusal('unavailable', error);",
    "return 'stored' as Value;",
  ),
  of(
    'full-disk',
    'a full disk is reported as a defect',
    `${sqlite}/faults.ts`,
    "case 'SQLITE_FULL':",
    "case 'SQLITE_FULL_':",
  ),
  of(
    'damaged-file',
    'verify compares no fields',
    'src/verify/compare-record.ts',
    '  if (difference === null) {',
    '  if (difference === null || difference.fields.length >= 0) {',
  ),
  onServer(
    'locked',
    'a locked inbox of a server is answered with 2xx',
    'src/inbox/receiver.ts',
    "throw error instanceof Refusal ? error : new Refusal('unavailable', error);",
    "return 'stored' as Value;",
  ),
  onServer(
    'full-disk',
    'a full disk of a server is reported as a defect',
    `${postgres}/faults.ts`,
    'const why = fullWhen[code];',
    'if (code in fullWhen) return error;\n  const why = fullWhen[code];',
  ),
  onServer(
    'damaged-file',
    'a damaged table of a server is reported as a defect',
    `${postgres}/faults.ts`,
    'const unusable = unusableWhen[code];',
    "if (code === 'XX001') return error;\n  const unusable = unusableWhen[code];",
  ),
  onServer(
    'server-dies',
    'deliveries are accepted by a server that has not written them',
    `${postgres}/open.ts`,
    '    pipeline: true,\n',
    "    pipeline: true,\n    options: '-c synchronous_commit=off',\n",
  ),
];
