import type { JsonObject } from '../../domain/json.js';
import { callerOf, type Exchange } from '../http/exchange.js';
import { run } from '../state/statements.js';

export interface AuditEntry {
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly resourceLabel: string | null;
  readonly before: JsonObject | null;
  readonly after: JsonObject | null;
}

/** Records an action of an application on behalf of a user. Call it inside the transaction of that action. */
export function recordActivity(exchange: Exchange, entry: AuditEntry): void {
  const caller = callerOf(exchange);
  if (caller.kind !== 'user') throw new Error('an audit event needs a user token');
  run(
    exchange.services.state,
    `INSERT INTO audit_events (id, realm, user_no, application_no, action, resource_type, resource_id,
       resource_label, old_values, new_values, status, occurred_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'success', ?)`,
    [
      uuidOf(exchange.services.random.bytes(16)),
      caller.realm,
      caller.userNo,
      caller.app.no,
      entry.action,
      entry.resourceType,
      entry.resourceId,
      entry.resourceLabel,
      entry.before === null ? null : JSON.stringify(entry.before),
      entry.after === null ? null : JSON.stringify(entry.after),
      exchange.now,
    ],
  );
}

/** Returns a version 4 UUID (RFC 9562) made from the given bytes, so that a seeded sandbox produces the same ids. */
function uuidOf(random: Buffer): string {
  const bytes = Buffer.from(random);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
