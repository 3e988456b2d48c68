import { once } from 'node:events'

/**
 * @param {import('node:net').Server} server
 * @returns {Promise<number>} the port
 */
export async function listen(server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return /** @type {import('node:net').AddressInfo} */ (server.address()).port
}
