import { expect, test } from 'vitest';
import type { InstallationId } from '../../src/domain/ids.js';
import { planListing } from '../../src/installations/plan-following.js';

const rule = {
  ...{ rule: 'crm', target: 'company', name: '{slug}', keepDays: null },
  overrides: new Map(),
};

const installed = (id: string) => ({
  ...{ id: id as InstallationId, target: `co_${id}`, targetType: 'company', targetName: 'Acme' },
  ...{ isActive: true, revokedAt: null },
});

function planned(count: number, except: readonly string[] = []) {
  let looked = 0;
  const isTaken = (name: string) => {
    looked += 1;
    return name === 'acme-2';
  };
  const ids = Array.from({ length: count }, (_, at) => `inst_${at}`);
  const { changes } = planListing(
    { ...rule, except: except as readonly InstallationId[] },
    { installations: ids.map(installed), isComplete: true },
    { realm: 'test', rows: [], isTaken, ruleNames: new Set(['crm']) },
    0,
  );
  return { names: changes.map(({ next }) => next.source), looked };
}

test('companies of one name get the first free numbers in turn, also behind one that is excepted', () => {
  expect(planned(4).names).toEqual(['acme', 'acme-3', 'acme-4', 'acme-5']);
  expect(planned(4, ['inst_1']).names).toEqual(['acme', 'acme-3', 'acme-4']);
});

test('the names of a thousand companies of one name are found without trying all earlier numbers for each', () => {
  const { names, looked } = planned(1_000);
  expect(new Set(names).size).toBe(1_000);
  expect(looked).toBeLessThan(3_000);
});
