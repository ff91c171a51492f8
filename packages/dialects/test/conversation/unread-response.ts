import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'

/** Answers a request whose client reads nothing. */
export const withUnreadResponse = async (answer: (response: ServerResponse) => Promise<void>): Promise<void> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.pause().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
  response.setTimeout(0)
  try {
    await answer(response)
  } finally {
    client.destroy()
    server.close()
  }
}
