import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { streamTranscription } from '../../src/openai-transcriptions/event-stream.js'

it('events that their client stops to read end with its connection, while the recognition goes on', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.pause().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
  response.setTimeout(0)
  const streamed = streamTranscription(
    response,
    async ({ milestone }) => {
      milestone({ text: 'a'.repeat(16 * 1_048_576), channel: 0 })
      await once(response, 'close')
      throw new Error('The client has left.')
    },
    50,
  )
  await expect(streamed).rejects.toThrow('The client has left.')
  client.destroy()
  server.close()
  await once(server, 'close')
})
