import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import type { LedgerEvent } from '../../../../src/protocol/session-event.js'
import {
  createCertificateKeys,
  privateKeyPem,
  signCertificate,
} from '../../../server/src/identity/keys/development-certificates.js'
import type { VerificationReport } from '../../../../src/testing/verifying/report.js'
import { linkedNamespaces, messageOf, networkNamespaces, type LinkedNamespaces } from './network-namespaces.js'

interface Outcome {
  readonly states: readonly string[]
  readonly text: string
  readonly gapMs: number
  readonly ledger: LedgerEvent
  /** The longest time between two milestones. */
  readonly maxPauseMs: number
  readonly end: string
}

interface Evidence {
  readonly proof: VerificationReport
  readonly transcript: string
  readonly foreignSamples: number
}

const outageMs = 8_000
/** Speech before, during and after the outage. */
const durationMs = 11_000
const source = { sampleCount: durationMs * 8, sampleRateHz: 8000 }

/** For an address, signed by a separate CA. */
const certificateOf = async (
  host: string,
): Promise<{ readonly ca: string; readonly certificate: string; readonly key: string }> => {
  const [authority, server] = [await createCertificateKeys(), await createCertificateKeys()]
  const common = {
    commonName: 'rxspeech test',
    issuer: { commonName: 'rxspeech test', keys: authority },
    notBeforeMs: Date.now() - 3_600_000,
    notAfterMs: Date.now() + 3_600_000,
  }
  const addresses = [host]
  return {
    ca: await signCertificate({ ...common, publicKey: authority.publicKey, use: { type: 'authority' } }),
    certificate: await signCertificate({
      ...common,
      commonName: host,
      publicKey: server.publicKey,
      use: { type: 'server', names: [], addresses },
    }),
    key: privateKeyPem(server),
  }
}

/** With the default a session mostly notices only a pause; with the other value it reconnects meanwhile. */
const sessions = [
  { over: 'websocket' },
  { over: 'grpc' },
  { over: 'websocket', heartbeatMs: 1_000 },
  { over: 'grpc', heartbeatMs: 1_000 },
] as const

describe.skipIf(networkNamespaces.areAbsent)(networkNamespaces.title('a link between two machines'), () => {
  let linked: LinkedNamespaces | undefined
  afterEach(() => linked?.close())

  // The link is down for 8 s, and then the system waits up to 13 s until it sends lost packets again.
  it('may be down for 8 s without losing a byte, over either transport', async () => {
    linked = await linkedNamespaces()
    const { ca, ...certificate } = await certificateOf(linked.serviceHost)
    const service = linked.fork('service', join(__dirname, 'namespaces/service.mjs'))
    service.send({ host: linked.serviceHost, ...certificate, count: sessions.length, source })
    const listening = await messageOf<readonly { readonly url: string; readonly address: string }[]>(service)
    const client = linked.fork('client', join(__dirname, 'namespaces/client.mjs'))
    client.send({ ca, durationMs, sessions: sessions.map((session, index) => ({ ...session, ...listening[index] })) })
    expect(await messageOf(client)).toBe('received')
    const outcomes$ = messageOf<readonly Outcome[]>(client)
    await linked.set('down')
    await delay(outageMs)
    await linked.set('up')
    const outcomes = await outcomes$
    service.send('prove')
    const evidence = await messageOf<readonly Evidence[]>(service)
    outcomes.forEach(({ states, text, gapMs, ledger, maxPauseMs, end }, index) => {
      const { proof, transcript, foreignSamples } = evidence[index] ?? {}
      expect({ end, text, gapMs }).toEqual({ end: 'complete', text: transcript, gapMs: 0 })
      expect(proof).toMatchObject({ missing: [], unfinalized: [] })
      expect(foreignSamples).toBe(0)
      const whole = {
        capturedMs: durationMs,
        finalizedMs: durationMs,
        pendingMs: 0,
        replayedPendingMs: 0,
        droppedMs: 0,
      }
      expect(ledger).toMatchObject(whole)
      expect(maxPauseMs).toBeGreaterThan(outageMs - 1_000)
      if (index >= 2) expect(states).toContain('resumed')
    })
  })
})
