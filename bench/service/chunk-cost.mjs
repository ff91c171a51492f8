/** Sessions that send in real time. */
export const sessions = Number(process.env['SESSIONS'] ?? 200)
/** How long each measurement takes. */
export const seconds = Number(process.env['SECONDS'] ?? 3)

export const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]

/** CPU time of the server for a chunk, in µs. */
export const chunkCost = async ({ server, clients }, by, warmUpMs) => {
  await clients.request('open', { by, count: sessions })
  await clients.request('pace', { durationMs: warmUpMs })
  await server.request('begin', false)
  const { chunks } = await clients.request('pace', { durationMs: seconds * 1000 })
  const { cpuMs } = await server.request('end', false)
  await clients.request('close')
  return (cpuMs * 1000) / chunks
}
