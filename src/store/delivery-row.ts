import type { AcceptedEvent } from '../inbox/ports.js';
import type { WebhookInboxTable } from './operating-schema.js';

/** What became of a delivery: `duplicate` when its event and installation were known, which changes nothing. */
export type Stored = 'stored' | 'duplicate';

/** The columns of a new delivery, in the order that statements use. */
export const deliveryColumns = [
  ...['event_id', 'installation', 'event', 'source', 'investment', 'observed_at', 'test', 'received_at'],
  ...['state', 'worked_at', 'body'],
] as readonly (keyof WebhookInboxTable)[];

export type DeliveryRow = (string | number | null)[];

/** A delivery that is stored and deleted again, to see whether one can be stored. As large as most, so that it needs as much room. */
const tried: Partial<Record<keyof WebhookInboxTable, string | number>> = {
  ...{ event_id: 'rosterd:try', installation: '', event: 'rosterd:try', test: 1, state: 'ignored' },
  ...{ received_at: '', worked_at: '', body: ' '.repeat(4_096) },
};

export const triedRow: DeliveryRow = deliveryColumns.map((name) => tried[name] ?? null);

/** An event without a lane is stored as `ignored` at once, without its body. */
export function deliveryRow(event: AcceptedEvent): DeliveryRow {
  const idle = event.lane === null;
  return [
    ...[event.eventId, event.installation, event.event, event.lane, event.investment, event.observedAt],
    ...[event.test ? 1 : 0, event.receivedAt],
    ...[idle ? 'ignored' : 'pending', idle ? event.receivedAt : null, idle ? null : event.body],
  ];
}
