import type { Random } from '../../../runtime/random.js';
import { grantedScopes } from '../../contract/scopes.js';
import type { State } from '../../state/database.js';
import { all, one } from '../../state/statements.js';
import type { SandboxRealm, WorldDocument, WorldPlan } from '../document.js';
import { type SeededApplication, type SeededUser, type Seeding, seedSyndicateKey } from './accounts.js';
import { acceptTermsForAll, seedAttribution } from './attribution.js';
import { seedLive } from './live.js';

/**
 * Seeds what was added to the sandbox realm later: keys of its syndicates, the live realm and the attribution program.
 * It has a random stream of its own, so that the sandbox realm of a seed stays as it was.
 */
export function seedFurther(
  state: State,
  random: Random,
  now: number,
  plan: WorldPlan,
  sandbox: SandboxRealm,
): WorldDocument {
  return state.transaction(() => {
    const seeding: Seeding = { state, random, now };
    acceptTermsForAll(seeding);
    const application = firstApplication(state, sandbox);
    const people = (ids: readonly string[]) => ids.map((id) => personById(state, id));
    const seeded = [...sandbox.companies, ...sandbox.uninstalled];
    // The live realm and the attribution program need the first ones only.
    const founders = people([...new Set(seeded.slice(0, foundersMax).map(({ founder }) => founder))]);
    const investors = named(state, ['ida', 'ivan']);
    const live = seedLive(seeding, {
      application,
      founders,
      investors: [...investors, ...named(state, backers)],
      records: plan.records,
    });
    const syndicates = sandbox.syndicates.map((syndicate) => {
      const syndicateNo = numberOf(state, 'syndicates', syndicate.id);
      const wish = { realm: 'test', applicationNo: application.no, scopes: grantedScopes } as const;
      return { ...syndicate, key: seedSyndicateKey(seeding, { ...wish, syndicateNo }) };
    });
    const [founder] = founders;
    if (founder === undefined) throw new Error('a world has at least one company');
    const company = (id: string | undefined) => ({ no: numberOf(state, 'companies', id ?? '') });
    const attribution = seedAttribution(seeding, {
      companies: { test: company(seeded[0]?.id), live: company(live.companies[0]?.id) },
      founder,
      investors,
    });
    return { ...sandbox, syndicates, live, attribution };
  })();
}

const foundersMax = 20;
const backers = Array.from({ length: 10 }, (_, index) => `backer${index + 1}`);

export function firstApplication(state: State, { apps }: SandboxRealm): SeededApplication {
  const [app] = apps;
  const row = one<{ no: number; organization_no: number }>(
    state,
    'SELECT a.no, a.organization_no FROM applications a JOIN clients c ON c.application_no = a.no WHERE c.client_id = ?',
    [app?.clientId ?? ''],
  );
  if (app === undefined || row === undefined) throw new Error('the world has no application');
  const { clientId, clientSecret } = app;
  return {
    no: row.no,
    organizationNo: row.organization_no,
    name: app.name,
    test: { clientId, clientSecret },
    live: app.live,
  };
}

function personById(state: State, id: string): SeededUser {
  const user = one<SeededUser>(state, 'SELECT no, id, email, name FROM users WHERE id = ?', [id]);
  if (user === undefined) throw new Error(`the world has no user ${id}`);
  return user;
}

const named = (state: State, usernames: readonly string[]): readonly SeededUser[] =>
  all<SeededUser>(
    state,
    'SELECT no, id, email, name FROM users WHERE username IN (SELECT value FROM json_each(?)) ORDER BY no',
    [JSON.stringify(usernames)],
  );

const numberSql = {
  companies: 'SELECT no FROM companies WHERE id = ?',
  syndicates: 'SELECT no FROM syndicates WHERE id = ?',
} as const;

function numberOf(state: State, table: keyof typeof numberSql, id: string): number {
  const row = one<{ no: number }>(state, numberSql[table], [id]);
  if (row === undefined) throw new Error(`${table} has no ${id}`);
  return row.no;
}
