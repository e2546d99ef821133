import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { openConnectionPool } from '../../src/client/fetch/connection-pool.js';
import type { WireFetch } from '../../src/client/fetch/fetch.js';
import { type ConfigInput, configFromObject } from '../../src/config/from-object.js';
import { type Engine, type EngineParts, startEngine } from '../../src/daemon/engine.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/platform/sandbox/sandbox.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { seededRandom } from '../../src/runtime/random.js';
import { type Control, controlOf } from '../support/control-sandbox.js';
import { manualClock } from '../support/manual-clock.js';

export interface Record {
  readonly id: string;
  readonly status: string;
  readonly group_label: string | null;
  readonly committed_cents: number | null;
}

/** The columns used to compare a mirror with the platform, ordered by id. */
export const compared = 'id, status, group_label, committed_cents';

export interface SandboxAndMirror {
  readonly sandbox: Sandbox;
  readonly file: string;
  readonly wire: WireFetch;
  readonly companies: Sandbox['ready']['companies'];
  /** Platform and mirror share one clock, which moves only here. */
  advance(millis: number): void;
  engine(
    sources: ConfigInput['sources'],
    more?: Partial<Pick<EngineParts, 'wire' | 'onPage'>> & { readonly perPage?: number },
  ): Promise<Engine>;
  /** Opens a separate connection, like an analyst's. */
  reader(): Sqlite.Database;
  readonly control: Control;
  /**
   * Returns everything the platform lists to this token, read page by page without rosterd's code. Waits out rate
   * limits.
   */
  truth(token: string, filters?: { readonly [name: string]: string }): Promise<readonly Record[]>;
  close(): Promise<void>;
}

export async function startSandboxAndMirror(options: SandboxOptions): Promise<SandboxAndMirror> {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-proof-'));
  const file = join(folder, 'mirror.db');
  const sandbox = await startSandbox({ clock: manualClock(Date.parse('2026-11-02T09:00:00Z')), ...options });
  const pool = openConnectionPool();
  const readers: Sqlite.Database[] = [];
  const random = seededRandom(1);
  return {
    sandbox,
    file,
    wire: pool.fetch,
    companies: sandbox.ready.companies,
    advance: (millis) => sandbox.clock.advance(millis),
    engine: (sources, { perPage = 100, ...more } = {}) =>
      startEngine({
        config: configFromObject(
          {
            platform: { baseUrl: sandbox.url },
            database: `sqlite:${file}`,
            sources,
            sync: { intervalSeconds: 3600, perPage },
          },
          { cwd: folder, env: {} },
        ),
        clock: sandbox.clock,
        random,
        logger: silentLogger,
        wire: pool.fetch,
        ...more,
      }),
    reader: () => {
      const reader = new Sqlite(file, { readonly: true });
      readers.push(reader);
      return reader;
    },
    control: controlOf(sandbox),
    async truth(token, filters = {}) {
      const found: Record[] = [];
      for (let cursor = ''; ; ) {
        const query = new URLSearchParams({
          ...filters,
          per_page: '100',
          ...(cursor === '' ? {} : { cursor }),
        });
        const answer = await fetch(`${sandbox.url}/investments?${query}`, {
          headers: { authorization: `Bearer ${token}` },
        });
        if (answer.status === 429) {
          sandbox.clock.advance(3_600_000);
          continue;
        }
        if (!answer.ok) throw new Error(`the platform answered ${answer.status}: ${await answer.text()}`);
        const page = (await answer.json()) as Listed;
        for (const { id, status, group, amounts } of page.data)
          found.push({ id, status, group_label: group, committed_cents: amounts.committed_cents });
        if (!page.meta.has_more) return found.sort((one, other) => (one.id < other.id ? -1 : 1));
        cursor = page.meta.next_cursor;
      }
    },
    async close() {
      for (const reader of readers) reader.close();
      await pool.close();
      await sandbox.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Listed {
  readonly data: readonly {
    readonly id: string;
    readonly status: string;
    readonly group: string | null;
    readonly amounts: { readonly committed_cents: number };
  }[];
  readonly meta: { readonly has_more: boolean; readonly next_cursor: string };
}
