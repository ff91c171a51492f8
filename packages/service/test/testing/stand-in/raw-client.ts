import { once } from 'node:events'
import { WebSocket } from 'ws'
import type { StandIn } from '../../../src/testing/stand-in/stand-in.js'

/** Samples that differ, in chunks of 100 ms at 8 kHz. */
export const speech = (ms: number): Uint8Array[] =>
  Array.from({ length: ms / 100 }, (_, chunk) => Uint8Array.from({ length: 1600 }, (_, at) => (at * 31 + chunk) % 256))

/** What a client of a socket sees: the texts of its results, other messages by their type, and how it ends. */
export interface SeenBySocket {
  readonly log: string[]
  readonly socket: WebSocket
  /** Resolves at the next entry that is equal. */
  readonly until: (entry: string) => Promise<void>
}

interface Results {
  readonly is_final?: boolean
  readonly from_finalize?: boolean
  readonly channel?: { readonly alternatives: readonly { readonly transcript: string }[] }
}

const entryOf = (text: string): string => {
  let message: { readonly type: string; readonly delta?: string; readonly transcript?: string } & Results
  try {
    message = JSON.parse(text) as typeof message
  } catch {
    return `broken ${text}`
  }
  const { type, is_final: isFinal, from_finalize: isFromFinalize, channel, transcript, delta } = message
  const shown = channel?.alternatives[0]?.transcript ?? transcript ?? delta
  if (type !== 'Results') return shown === undefined ? type : `${type} ${shown}`
  return `${isFinal === true ? 'final' : 'interim'}${isFromFinalize === true ? ' finalized' : ''} ${shown ?? ''}`
}

/** Opens a socket as the clients of a vendor do. Its refusal is an entry, too. */
export const openSocket = (vendor: StandIn, path: string): SeenBySocket => {
  const socket = new WebSocket(`${vendor.wsUrl}${path}`, { headers: { Authorization: `Token ${vendor.key}` } })
  const log: string[] = []
  const waiting = new Map<string, () => void>()
  const add = (entry: string): void => {
    log.push(entry)
    waiting.get(entry)?.()
  }
  socket.on('open', () => add('open'))
  socket.on('message', (data: Buffer) => add(entryOf(data.toString())))
  socket.on('close', (code) => add(`closed ${code}`))
  socket.on('error', (error) => add(`error ${error.message}`))
  return {
    log,
    socket,
    until: (entry) => (log.includes(entry) ? Promise.resolve() : new Promise((resolve) => waiting.set(entry, resolve))),
  }
}

export const listenPath = '/v1/listen?model=nova-3&encoding=linear16&sample_rate=8000'

export const openListen = async (vendor: StandIn, query = ''): Promise<SeenBySocket> => {
  const seen = openSocket(vendor, `${listenPath}${query}`)
  await once(seen.socket, 'open')
  return seen
}

export const sendAll = ({ socket }: SeenBySocket, messages: readonly (Uint8Array | object)[]): void => {
  for (const message of messages) socket.send(message instanceof Uint8Array ? message : JSON.stringify(message))
}
