// What routes are made of: the API, the admission of callers, and the settings of the gateway.
import type { Api } from '../../api.ts';
import type { Admission } from './admission.ts';
import type { EventSender } from './synthesis/event-sender.ts';

export interface RouteTools extends Api {
  admission: Admission;
  eventSender: EventSender;
  isStrict: boolean;
  isAllowedOrigin(origin: string): boolean;
  readerStallMs: number;
  baseUrl(): string;
}
