// The table `tickets`: what may be asked for once, by whoever comes with the ticket, at whichever process. What a ticket is
// for is sealed; using it takes the row.
import { createColumns } from './columns.ts';
import type { RowStore } from './row-store.ts';

export interface TicketRow {
  ticketId: string;
  keyId: string;
  /** Of the text that it is for, by which it is limited how many there may be. */
  chars: number;
  sealed: string;
  expiresAtMs: number;
}

export interface TicketRows {
  /** Adds it unless the unused tickets of its key, or all there are, would then hold more characters. */
  add(ticket: TicketRow, limits: { ofKey: number; ofAll: number }, nowMs: number): Promise<'added' | 'key' | 'all'>;
  /** The ticket, which is then used; undefined if there is none or it is over. */
  take(ticketId: string, nowMs: number): Promise<TicketRow | undefined>;
}

const columns = createColumns<TicketRow>(['ticketId', 'keyId', 'chars', 'sealed', 'expiresAtMs']);

export function createTicketRows(store: RowStore): TicketRows {
  return {
    add: (ticket, limits, nowMs) =>
      store.transaction(async (rows) => {
        await rows.query('delete from tickets where expires_at_ms <= $1', nowMs);
        const sum = `select coalesce(sum(chars), 0) as "ofAll",
          coalesce(sum(case when key_id = $1 then chars else 0 end), 0) as "ofKey" from tickets`;
        const [held] = await rows.query<{ ofAll: number; ofKey: number }>(sum, ticket.keyId);
        if (Number(held!.ofKey) + ticket.chars > limits.ofKey) return 'key';
        if (Number(held!.ofAll) + ticket.chars > limits.ofAll) return 'all';
        const insert = `insert into tickets (${columns.names}) values (${columns.places})`;
        await rows.query(insert, ...columns.valuesOf(ticket));
        return 'added';
      }),
    async take(ticketId, nowMs) {
      const sql = `delete from tickets where ticket_id = $1 and expires_at_ms > $2 returning ${columns.selected}`;
      const [ticket] = await store.query<TicketRow>(sql, ticketId, nowMs);
      return ticket;
    },
  };
}
