import type { FeedItem, Investment } from '../../../src/domain/investment.js';
import { randomText, seededRandom } from '../../../src/runtime/random.js';
import { identity, record } from '../../store/samples.js';

/** Returns the same record for the same number, with ids in no order. */
export function sample(n: number, more: Partial<Investment>): FeedItem {
  const id = `inv_${randomText(seededRandom(n), 22)}`;
  const who = identity(`Person ${n}`, {
    address_line: '1 Long Street',
    city: 'Springfield',
    bio: 'x'.repeat(120),
  });
  const contracts = JSON.stringify([{ id: 'ctr_1', name: 'SAFE', signed_at: '2026-01-01T00:00:00.000Z' }]);
  return record(id, { investor_id: `usr_${id}`, contracts, ...more }, who);
}
