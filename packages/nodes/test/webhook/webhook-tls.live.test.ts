import { join } from 'node:path'
import { concat, lastValueFrom, NEVER, of, take, toArray } from 'rxjs'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  developmentCertificates,
  type DevelopmentCertificates,
} from '../../../server/src/identity/keys/development-certificates.js'
import { runProgram } from '../../../../test/docs/run-program.js'
import { event } from '../../../server/test/nodes/fixed-set.js'
import { nodeContext } from '../../../server/test/nodes/node-context.js'
import { signatureOf, eventOf, webhookBench } from './webhook-bench.js'
import { ok } from './webhook-receiver.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const { logged, receive, open, run, clear } = webhookBench()
afterEach(clear)

const folder = temporaryFolder()
let certificates: DevelopmentCertificates
beforeAll(async () => {
  certificates = await developmentCertificates(folder)
})

describe('webhook over TLS', () => {
  it('delivers to a receiver whose authority the process trusts: signed, and again after a 503', async () => {
    const receiver = await receive((response, count) => {
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
      { Name: 'DTMF', Channel: 1, StartMsec: 5, EndMsec: -1, GroupId: '', Tags: [], Data: { Digit: '5' } },
    ])
    for (const { given, due } of receiver.received.map(signatureOf)) expect(given).toBe(due)
  })

  it('sends nothing to a receiver whose certificate is not trusted, reports that, and continues', async () => {
    const receiver = await receive(ok, certificates)
    const input$ = of(event('words', { data: { Text: 'spoken' } }), event('more'))
    const items = await run({ batchEvents: 1, maxAttempts: 2 }, input$)
    expect(items).toEqual([
      eventOf('Webhook Failed', { Reason: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', Attempts: 2, Lost: 1 }),
      eventOf('Webhook Ended', { Delivered: 0, Lost: 2 }),
    ])
    expect(receiver.received).toEqual([])
    expect(JSON.stringify(logged)).toContain('UNABLE_TO_VERIFY_LEAF_SIGNATURE')
    expect(JSON.stringify([items, logged])).not.toMatch(/hidden|spoken|secret|127\.0/u)
  })

  it('reports when the receiver does not use TLS, while the session continues', async () => {
    const receiver = await receive(ok)
    const url = receiver.url.replace('http:', 'https:')
    const node = await open({ url, maxAttempts: 2 })
    const [items] = await lastValueFrom(node(concat(of(event('a')), NEVER), nodeContext()).pipe(take(1), toArray()))
    expect(items).toMatchObject({ event: { name: 'Webhook Failed', data: { Attempts: 2, Lost: 1 } } })
    expect(receiver.received).toEqual([])
  })
})
