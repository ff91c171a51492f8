import { createHmac } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asyncScheduler, concat, lastValueFrom, NEVER, of, Subject, take, toArray } from 'rxjs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  developmentCertificates,
  type DevelopmentCertificates,
} from '../../../src/service/identity/development-certificates.js'
import type { NodeItem } from '../../../src/service/nodes/node.js'
import { webhook } from '../../../src/service/nodes/webhook.js'
import { runProgram } from '../../docs/run-program.js'
import { event, openNode } from './fixed-set.js'
import { nodeContext } from './node-context.js'
import { ok, openReceiver } from './webhook-receiver.js'

const secret = 'a secret that nobody sees'
const logged: unknown[] = []
const context = {
  scheduler: asyncScheduler,
  resource: () => ({ kind: 'secret', reveal: () => secret }) as const,
  log: (...all: unknown[]) => logged.push(all),
}
const quick = { allowPrivate: true, secret: 'key', batchMs: 0, retryBaseMs: 10, retryMaxMs: 20, maxAttempts: 2 }

let folder = ''
let certificates: DevelopmentCertificates
let receiver: Awaited<ReturnType<typeof openReceiver>> | undefined
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rxspeech-webhook-'))
  certificates = await developmentCertificates(folder)
})
afterAll(() => rm(folder, { recursive: true, force: true }))
afterEach(async () => {
  await receiver?.close()
  receiver = undefined
  logged.length = 0
})

const failed = (Reason: string): NodeItem =>
  event('Webhook Failed', { channel: -2, startMs: -1, endMs: -1, data: { Reason, Attempts: 2, Lost: 1 } })
const lost = (Lost: number): NodeItem =>
  event('Webhook Ended', { channel: -2, startMs: -1, endMs: -1, data: { Delivered: 0, Lost } })

describe('webhook over TLS', () => {
  it('delivers to a receiver whose authority the process trusts: signed, and again after a 503', async () => {
    receiver = await openReceiver((response, count) => {
      if (count === 1) response.writeHead(503).end('later')
      else ok(response)
    }, certificates)
    const sender = join(__dirname, 'webhook-sender.cjs')
    const env = { NODE_EXTRA_CA_CERTS: certificates.caPath }
    expect(await runProgram(process.execPath, [sender, receiver.url], { env })).toMatchObject({
      exitCode: 0,
      stdout: '[]',
      stderr: '',
    })
    const [first, again] = receiver.received
    expect(receiver.received).toHaveLength(2)
    expect([again?.body, again?.headers['x-rxspeech-delivery']]).toEqual([
      first?.body,
      first?.headers['x-rxspeech-delivery'],
    ])
    expect((JSON.parse(first?.body ?? '') as { readonly Events: unknown }).Events).toEqual([
      { Name: 'DTMF', Channel: 1, StartMsec: 5, Data: { Digit: '5' } },
    ])
    for (const { headers, body } of receiver.received) {
      const [, time = '', signature = ''] =
        /^t=(\d+),v1=([0-9a-f]{64})$/u.exec(String(headers['x-rxspeech-signature'])) ?? []
      expect(createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')).toBe(signature)
    }
  })

  it('gives nothing to a receiver whose certificate is not trusted, tells so, and goes on', async () => {
    receiver = await openReceiver(ok, certificates)
    const node = await openNode(webhook, { ...quick, batchEvents: 1, url: receiver.url }, context)
    const input$ = new Subject<NodeItem>()
    const told = lastValueFrom(node(input$, nodeContext()).pipe(toArray()))
    input$.next(event('words', { data: { Text: 'spoken' } }))
    input$.next(event('more'))
    input$.complete()
    expect(await told).toEqual([failed('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), lost(2)])
    expect(receiver.received).toEqual([])
    expect(JSON.stringify(logged)).toContain('UNABLE_TO_VERIFY_LEAF_SIGNATURE')
    expect(JSON.stringify([await told, logged])).not.toMatch(/hidden|spoken|secret|127\.0/u)
  })

  it('tells when the receiver speaks no TLS, while the session goes on', async () => {
    receiver = await openReceiver(ok)
    const url = receiver.url.replace('http:', 'https:')
    const node = await openNode(webhook, { ...quick, url }, context)
    const [told] = await lastValueFrom(node(concat(of(event('a')), NEVER), nodeContext()).pipe(take(1), toArray()))
    expect(told).toMatchObject({ event: { name: 'Webhook Failed', data: { Attempts: 2, Lost: 1 } } })
    expect(receiver.received).toEqual([])
  })
})
