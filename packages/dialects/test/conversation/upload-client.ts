import { IncomingMessage, type IncomingHttpHeaders } from 'node:http'
import { Socket } from 'node:net'
import { VirtualTimeScheduler } from 'rxjs'
import type { DialectClient } from '../../../server/src/listen/dialect.js'
import { RequestLimit } from '../../../server/src/sessions/request-limit.js'
import { defaultSessionLimits } from '../../../server/src/sessions/session-context.js'

/** A client of requests, without a service behind it. */
export const clientOf = (change: Partial<DialectClient> = {}, headers: IncomingHttpHeaders = {}): DialectClient => ({
  sessionId: 'session',
  request: Object.assign(new IncomingMessage(new Socket()), { headers }),
  url: new URL('http://service/'),
  scheduler: new VirtualTimeScheduler(),
  signal: new AbortController().signal,
  tenant: 'Default',
  address: '192.0.2.1',
  models: [],
  requests: new RequestLimit(defaultSessionLimits, new VirtualTimeScheduler()),
  findModel: () => undefined,
  converse: () => Promise.reject(new Error('There is no service.')),
  ...change,
})
