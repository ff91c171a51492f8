import { createHmac } from 'node:crypto'
import { asyncScheduler, lastValueFrom, toArray, type Observable } from 'rxjs'
import type { Node, NodeItem } from '../../../server/src/nodes/core/node.js'
import { webhook } from '../../src/webhook/webhook.js'
import { event, openNode } from '../../../server/test/nodes/fixed-set.js'
import { nodeContext } from '../../../server/test/nodes/node-context.js'
import { openReceiver, type Received } from './webhook-receiver.js'

const secret = 'a secret that nobody sees'

/** Options that allow this machine, with short deadlines. */
const quick = { allowPrivate: true, secret: 'key', batchMs: 0, retryBaseMs: 10, retryMaxMs: 20 }

/** Webhooks that send to a real receiver on this machine; `clear` after each test. */
export const webhookBench = () => {
  const logged: unknown[] = []
  const context = {
    scheduler: asyncScheduler,
    resource: () => ({ kind: 'secret', reveal: () => secret }) as const,
    log: (...all: unknown[]) => logged.push(all),
  }
  let receiver: Awaited<ReturnType<typeof openReceiver>> | undefined
  const open = (options: object = {}): Promise<Node> =>
    openNode(webhook, { ...quick, url: receiver?.url, ...options }, context)
  return {
    context,
    logged,
    receive: async (...options: Parameters<typeof openReceiver>) => {
      receiver = await openReceiver(...options)
      return receiver
    },
    /** A node that sends to the receiver. */
    open,
    /** All its output for an input. */
    run: async (options: object, input$: Observable<NodeItem>): Promise<readonly NodeItem[]> => {
      const node = await open(options)
      return lastValueFrom(node(input$, nodeContext()).pipe(toArray()))
    },
    clear: async (): Promise<void> => {
      await receiver?.close()
      receiver = undefined
      logged.length = 0
    },
  }
}

/** An event of a webhook about itself. */
export const eventOf = (name: string, data: object): NodeItem =>
  event(name, { channel: -2, startMs: -1, endMs: -1, data })

/** The signature of a signed request, and the expected one. */
export const signatureOf = ({ headers, body }: Received) => {
  const header = String(headers['x-rxspeech-signature'])
  const [, time = '', given] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? []
  return { timeS: Number(time), given, due: createHmac('sha256', secret).update(`${time}.${body}`).digest('hex') }
}
