-- Opens a log in Neovim's own client and does what a person does: reads the problems, hovers, applies the quick fix.
-- Writes what it saw as JSON to $RESULT. Arguments come from the environment: PYTHON, SERVER, WORKSPACE, LOG, RESULT.
local seen = {}

local function finish()
  local file = assert(io.open(vim.env.RESULT, "w"))
  file:write(vim.json.encode(seen))
  file:close()
  vim.cmd("qall!")
end

local function run()
  local client_id = vim.lsp.start_client({
    name = "firstfault",
    cmd = { vim.env.PYTHON, "-I", "-X", "utf8", vim.env.SERVER },
    root_dir = vim.env.WORKSPACE,
    workspace_folders = { { uri = vim.uri_from_fname(vim.env.WORKSPACE), name = "workspace" } },
  })
  vim.cmd("edit " .. vim.fn.fnameescape(vim.env.LOG))
  local buffer = vim.api.nvim_get_current_buf()
  vim.lsp.buf_attach_client(buffer, client_id)
  assert(vim.wait(60000, function()
    return #vim.diagnostic.get(buffer) > 0
  end, 50), "no diagnostics arrived")
  local problems = vim.diagnostic.get(buffer)
  table.sort(problems, function(a, b)
    return a.lnum < b.lnum
  end)
  seen.problems = vim.tbl_map(function(p)
    return { line = p.lnum + 1, column = p.col, severity = p.severity, message = p.message, code = p.user_data and p.user_data.lsp.code }
  end, problems)
  local first
  for _, p in ipairs(problems) do
    if p.severity == vim.diagnostic.severity.ERROR and not first then
      first = p
    end
  end
  seen.line_text = vim.api.nvim_buf_get_lines(buffer, first.lnum, first.lnum + 1, false)[1]
  seen.marked_text = seen.line_text:sub(first.col + 1, first.end_col)

  local document = { uri = vim.uri_from_bufnr(buffer) }
  local position = { line = first.lnum, character = first.col }
  local answer = vim.lsp.buf_request_sync(buffer, "textDocument/hover", { textDocument = document, position = position }, 30000)
  seen.hover = answer[client_id].result.contents.value

  answer = vim.lsp.buf_request_sync(buffer, "textDocument/codeLens", { textDocument = document }, 30000)
  seen.lens = answer[client_id].result[1].command.title

  local client = vim.lsp.get_client_by_id(client_id)
  local lsp_problem = {
    range = { start = position, ["end"] = { line = first.end_lnum, character = first.end_col } },
    message = first.message,
    severity = first.severity,
    source = first.source,
    code = first.user_data.lsp.code,
  }
  local params = { textDocument = document, range = lsp_problem.range, context = { diagnostics = { lsp_problem } } }
  answer = vim.lsp.buf_request_sync(buffer, "textDocument/codeAction", params, 30000)
  seen.actions = {}
  for _, action in ipairs(answer[client_id].result) do
    table.insert(seen.actions, action.title)
    if action.title:find("NCCL_DEBUG", 1, true) and not seen.applied then
      if not action.edit then
        action = vim.lsp.buf_request_sync(buffer, "codeAction/resolve", action, 30000)[client_id].result
      end
      vim.lsp.util.apply_workspace_edit(action.edit, client.offset_encoding)
      seen.applied = action.title
    end
  end
  for _, other in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(other):match("train%.sh$") then
      seen.script = table.concat(vim.api.nvim_buf_get_lines(other, 0, -1, false), "\n")
    end
  end
end

local ok, problem = xpcall(run, debug.traceback)
if not ok then
  seen.error = problem
end
finish()
