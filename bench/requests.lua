-- For wrk: sends every request of a file once. REQUESTS names the file; each request in it follows its length in a line.
local file = assert(io.open(os.getenv("REQUESTS"), "rb"))
local all = file:read("*a")
file:close()

local at = 1
-- Read by the main thread at the end.
repeated = 0

local loading
function setup(thread)
  loading = thread
end

function request()
  local _, last, length = all:find("^(%d+)\n", at)
  if not length then
    repeated = repeated + 1
    _, last, length = all:find("^(%d+)\n", 1)
  end
  at = last + 1 + tonumber(length)
  return all:sub(last + 1, at - 1)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%f,"refused":%d,"repeated":%d,"p50":%f,"p99":%f}\n',
    summary.requests,
    summary.duration / 1e6,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    loading:get("repeated"),
    latency:percentile(50) / 1e3,
    latency:percentile(99) / 1e3
  ))
end
