import { expect } from 'vitest';
import { company, type RunningPlatform } from '../running-platform.js';
import { type Cast, type CastName, callers, type Expected, makeCast, outside } from './cast.js';
import { defineTable, type MatrixRow } from './table.js';

interface Stage extends Cast {
  readonly offering: string;
  /** The investor's own record at the company. */
  readonly record: string;
  readonly strangersRecord: string;
}

async function stage(world: RunningPlatform): Promise<Stage> {
  const { data } = (await world.get('/investments?per_page=100', { token: company(world).token })).body;
  const [own] = data;
  const other = data.find((record: { investor: { id: string } }) => record.investor.id !== own.investor.id);
  return {
    ...makeCast(world, 'test', own.investor.id),
    offering: company(world).offering,
    record: own.id,
    strangersRecord: other.id,
  };
}

/** Editors of the company, and installs on it. */
const insiders = { founder: 200, install: 200, installIdentity: 200 } as const;
const hidden = {
  founderOtherRealm: '404 not_found',
  owner: '404 not_found',
  developer: '404 not_found',
  otherFounder: '404 not_found',
  investor: '404 not_found',
} as const;
const bound = {
  installOther: '403 forbidden',
  installSyndicate: '403 forbidden',
  syndicateKey: '403 forbidden',
} as const;
const boundMissing = {
  installOther: '404 not_found',
  installSyndicate: '404 not_found',
  syndicateKey: '404 not_found',
} as const;
const books: Expected = { ...outside, ...hidden, ...insiders, ...bound };
const beforeHiding = {
  owner: '403 forbidden',
  developer: '403 forbidden',
  otherFounder: '403 forbidden',
  investor: '403 forbidden',
} as const;
const older = { 'service-version': '2026-10-01' };

const everybody: Expected = {
  ...outside,
  ...insiders,
  owner: 200,
  developer: 200,
  founderOtherRealm: 200,
  otherFounder: 200,
  investor: 200,
  installOther: 200,
  installSyndicate: 200,
  syndicateKey: 200,
};

const identity = ['name', 'legal_name', 'email', 'address', 'bio'];

// biome-ignore lint/suspicious/noExplicitAny: a record as it came
function seesIdentity(record: any, caller: CastName): void {
  const shown = identity.filter((field) => field in record.investor);
  expect([caller, shown.length > 0]).toEqual([caller, caller === 'installIdentity']);
  expect('message' in record).toBe(caller === 'installIdentity');
}

const rows: readonly MatrixRow<CastName, Stage>[] = [
  {
    operation: 'listInvestments',
    about: 'of all visible records',
    expected: everybody,
    request: () => ({ path: '/investments?per_page=100' }),
    sees: ({ data }, caller, { here, elsewhere, record }) => {
      const companies = new Set(data.map((one: { company: string }) => one.company));
      const reach: Partial<Record<CastName, string[]>> = {
        founder: [here.id],
        install: [here.id],
        installIdentity: [here.id],
        otherFounder: [elsewhere.id],
        installOther: [elsewhere.id],
      };
      if (caller === 'investor') expect(data.map((one: { id: string }) => one.id)).toContain(record);
      else expect([caller, [...companies]]).toEqual([caller, reach[caller] ?? []]);
      for (const one of data) seesIdentity(one, caller);
    },
  },
  {
    operation: 'listInvestments',
    about: 'of one company',
    expected: { ...everybody, ...bound, founderOtherRealm: '404 not_found' },
    request: ({ here }) => ({ path: `/investments?company_id=${here.id}` }),
    sees: ({ data }, caller) => {
      const some = ['founder', 'investor', 'install', 'installIdentity'].includes(caller);
      expect([caller, data.length > 0]).toEqual([caller, some]);
    },
  },
  {
    operation: 'getInvestment',
    about: "on the investor's own record",
    expected: { ...outside, ...hidden, ...insiders, ...boundMissing, investor: 200 },
    request: ({ record }) => ({ path: `/investments/${record}` }),
    sees: ({ data }, caller) => seesIdentity(data, caller),
  },
  {
    operation: 'getInvestment',
    about: "on another investor's record",
    expected: { ...outside, ...hidden, ...insiders, ...boundMissing },
    request: ({ strangersRecord }) => ({ path: `/investments/${strangersRecord}` }),
  },
  {
    operation: 'getOfferingStats',
    expected: books,
    request: ({ offering }) => ({ path: `/offerings/${offering}/stats` }),
  },
  {
    operation: 'getOfferingStats',
    about: 'in the older version',
    expected: { ...books, ...beforeHiding },
    request: ({ offering }) => ({ path: `/offerings/${offering}/stats`, headers: older }),
  },
  {
    operation: 'listCompanyInvestmentChanges',
    expected: books,
    request: ({ here }) => ({ path: `/companies/${here.id}/investments/changes` }),
    sees: ({ data }, caller) => {
      for (const one of data) seesIdentity(one, caller);
    },
  },
  {
    operation: 'listCompanyInvestmentChanges',
    about: 'in the older version',
    expected: { ...books, ...beforeHiding },
    request: ({ here }) => ({ path: `/companies/${here.id}/investments/changes`, headers: older }),
  },
];

export const investmentsTable = defineTable<CastName, Stage>({
  name: 'investments',
  callers,
  stage,
  credential: (cast, caller, operation) => cast.token(caller, operation),
  rows,
});
