import { insertInstallation } from '../../src/platform/installations/install.js';
import { mintToken } from '../../src/platform/oauth/mint.js';
import { one } from '../../src/platform/state/statements.js';
import { makeClient, type TestClient } from './credentials.js';
import type { RunningPlatform } from './running-platform.js';

export interface InstalledApp {
  readonly client: TestClient;
  readonly installationNo: number;
  readonly token: string;
}

export function numberOf(
  world: RunningPlatform,
  table: 'companies' | 'syndicates' | 'offerings',
  id: string,
): number {
  const sql = { companies: 'companies', syndicates: 'syndicates', offerings: 'offerings' }[table];
  const row = one<{ no: number }>(world.services.state, `SELECT no FROM ${sql} WHERE id = ?`, [id]);
  if (row === undefined) throw new Error(`${table} has no ${id}`);
  return row.no;
}

/** Another application, installed on the same company or syndicate as the sandbox's own. */
export function otherApp(
  world: RunningPlatform,
  target: { readonly type: 'company' | 'syndicate'; readonly id: string },
  scopes: readonly string[],
  name = 'Other Partner',
): InstalledApp {
  const { services } = world;
  const now = services.clock.now();
  const client = makeClient(world, { name, scopes });
  const no = numberOf(world, target.type === 'company' ? 'companies' : 'syndicates', target.id);
  const installation = insertInstallation(
    services,
    {
      applicationNo: client.applicationNo,
      realm: 'test',
      target: { type: target.type, no },
      tier: target.type === 'company' ? 'founder' : 'full_access',
      scopes,
      userNo: 1,
    },
    now,
  );
  return { client, installationNo: installation.no, token: tokenOn(world, client, installation.no, scopes) };
}

export function tokenOn(
  world: RunningPlatform,
  client: TestClient,
  installationNo: number,
  scopes: readonly string[],
): string {
  const wish = {
    kind: 'installation',
    realm: 'test',
    applicationNo: client.applicationNo,
    installationNo,
    scopes,
  } as const;
  return mintToken(world.services, wish, world.services.clock.now()).token;
}

/** A token of the sandbox's own application for one of its installations, with only these scopes. */
export function narrowToken(
  world: RunningPlatform,
  installationId: string,
  scopes: readonly string[],
): string {
  const row = one<{ no: number; application_no: number }>(
    world.services.state,
    'SELECT no, application_no FROM installations WHERE id = ?',
    [installationId],
  );
  if (row === undefined) throw new Error(`no installation ${installationId}`);
  const wish = {
    kind: 'installation',
    realm: 'test',
    applicationNo: row.application_no,
    installationNo: row.no,
    scopes,
  } as const;
  return mintToken(world.services, wish, world.services.clock.now()).token;
}
