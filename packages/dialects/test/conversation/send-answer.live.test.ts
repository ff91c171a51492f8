import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { sendAnswer } from '../../src/conversation/send-answer.js'

it('an answer that its client does not read ends with its connection', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.pause().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
  response.setTimeout(0)
  await sendAnswer(response, { contentType: 'text/plain', body: 'a'.repeat(16 * 1_048_576) }, 50)
  expect(response.destroyed).toBe(true)
  client.destroy()
  server.close()
  await once(server, 'close')
})
