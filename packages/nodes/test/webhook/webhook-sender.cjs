// Passes one event to the built webhook node, and prints its output; the process determines which authorities it
// trusts.
const { asyncScheduler, NEVER, of, toArray, lastValueFrom } = require('rxjs')
const { webhook } = require('../../dist/webhook/webhook.js')

const [, , url] = process.argv
const context = {
  node: 'hook',
  session: { id: 'session-1', tenant: 'Acme', project: 'project', clientId: 'client' },
  resource: () => ({ kind: 'secret', reveal: () => 'a secret that nobody sees' }),
  scheduler: asyncScheduler,
  updated$: NEVER,
  log: () => undefined,
}
const options = { url, secret: 'key', allowPrivate: true, batchMs: 0, retryBaseMs: 10, retryMaxMs: 20, maxAttempts: 3 }
const main = async () => {
  const node = await webhook.configure(options).right.open(context)
  const event = { name: 'DTMF', channel: 1, startMs: 5, data: { Digit: '5' } }
  const items = await lastValueFrom(node(of({ type: 'event', event }), context).pipe(toArray()))
  process.stdout.write(JSON.stringify(items))
}
void main()
